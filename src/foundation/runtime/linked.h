// Link and LinkList: an intrusive list. A destroyed member leaves its list, and a destroyed list
// unlinks its members; linking allocates nothing. The loop's ready queue and the waiters of a
// signal or a socket are such lists, in order of arrival.
//
// What can be in several lists at once derives from several Links, told apart by `Where`.
#pragma once

#include "foundation/base/check.h"

namespace fairlead::runtime {

template <class T, class Where>
class LinkList;

template <class Where = void>
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
  template <class T, class Other>
  friend class LinkList;
  Link* next_ = nullptr;
  Link* prev_ = nullptr;
};

// First in, first out. T derives from Link<Where>.
template <class T, class Where = void>
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
  // REQUIRES: `member` is in no list of that kind.
  void push(T& member) {
    Link<Where>& link = member;
    CHECK(!link.linked());
    link.prev_ = head_.prev_;
    link.next_ = &head_;
    head_.prev_->next_ = &link;
    head_.prev_ = &link;
  }
  // Takes the oldest member out; nullptr when there is none.
  T* pop() {
    if (empty()) return nullptr;
    Link<Where>* first = head_.next_;
    first->unlink();
    return static_cast<T*>(first);
  }

 private:
  struct Head : Link<Where> {};
  Head head_;
};

}  // namespace fairlead::runtime
