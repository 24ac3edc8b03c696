// Fifo: a queue that takes no memory while it is empty. There are tens of thousands of them, one or
// two for every watch, and nearly all are empty nearly always (std::deque keeps half a kilobyte).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace fairlead {

template <class T>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }

  void push_back(T item) { items_.push_back(std::move(item)); }
  void pop_front() {
    items_[first_] = T();  // what it holds goes now
    ++first_;
    if (empty()) {
      clear();
    } else if (first_ >= kCompactAfter && first_ >= items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }
  void clear() {
    items_ = std::vector<T>();
    first_ = 0;
  }

 private:
  static constexpr std::size_t kCompactAfter = 32;
  std::vector<T> items_;
  std::size_t first_ = 0;  // of those not yet taken
};

}  // namespace fairlead
