// Link and LinkList: an intrusive list. A destroyed member leaves its list, and a destroyed list
// unlinks its members. Waiters of a signal or a socket are in such a list, in order of arrival;
// waiting allocates nothing, and either side may be destroyed first.
#pragma once

namespace fairlead::runtime {

class Link {
 public:
  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!next_) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = prev_ = nullptr;
  }

 protected:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { unlink(); }

 private:
  template <class T>
  friend class LinkList;
  Link* next_ = nullptr;
  Link* prev_ = nullptr;
};

// T derives from Link.
template <class T>
class LinkList {
 public:
  LinkList() { head_.next_ = head_.prev_ = &head_; }
  LinkList(const LinkList&) = delete;
  LinkList& operator=(const LinkList&) = delete;
  ~LinkList() {
    while (pop()) {
    }
  }

  bool empty() const { return head_.next_ == &head_; }
  // REQUIRES: `member` is in no list.
  void push(T& member) {
    Link& link = member;
    link.prev_ = head_.prev_;
    link.next_ = &head_;
    head_.prev_->next_ = &link;
    head_.prev_ = &link;
  }
  // Takes the oldest member out; nullptr when there is none.
  T* pop() {
    if (empty()) return nullptr;
    Link* first = head_.next_;
    first->unlink();
    return static_cast<T*>(first);
  }

 private:
  struct Head : Link {};
  Head head_;
};

}  // namespace fairlead::runtime
