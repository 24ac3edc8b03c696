#include "foundation/runtime/timer_heap.h"

namespace fairlead::runtime {

Timer::~Timer() {
  if (heap_) heap_->remove(*this);
}

TimerHeap::~TimerHeap() {
  for (Timer* timer : heap_) timer->heap_ = nullptr;
}

bool TimerHeap::before(const Timer& a, const Timer& b) {
  return a.deadline_ != b.deadline_ ? a.deadline_ < b.deadline_ : a.order_ < b.order_;
}

void TimerHeap::place(Timer* timer, std::size_t at) {
  heap_[at] = timer;
  timer->place_ = at;
}

void TimerHeap::sift_up(std::size_t at) {
  Timer* moving = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!before(*moving, *heap_[parent])) break;
    place(heap_[parent], at);
    at = parent;
  }
  place(moving, at);
}

void TimerHeap::sift_down(std::size_t at) {
  Timer* moving = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *moving)) break;
    place(heap_[child], at);
    at = child;
  }
  place(moving, at);
}

void TimerHeap::add(Timer& timer, Instant deadline) {
  CHECK(!timer.heap_);
  timer.heap_ = this;
  timer.deadline_ = deadline;
  timer.order_ = next_order_++;
  heap_.push_back(&timer);
  sift_up(heap_.size() - 1);
}

void TimerHeap::remove(Timer& timer) {
  if (timer.heap_ != this) return;
  const std::size_t at = timer.place_;
  timer.heap_ = nullptr;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  place(last, at);
  sift_up(at);
  sift_down(last->place_);
}

std::optional<Instant> TimerHeap::next_deadline() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->deadline_;
}

Timer* TimerHeap::pop_due(Instant now) {
  if (heap_.empty() || heap_.front()->deadline_ > now) return nullptr;
  Timer* first = heap_.front();
  remove(*first);
  return first;
}

}  // namespace fairlead::runtime
