// The timers of one loop: a binary heap whose nodes know their place, so that removal is O(log n)
// and adding allocates nothing beyond the heap's own array. Equal deadlines fire in order of
// adding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/runtime/time.h"

namespace fairlead::runtime {

class TimerHeap;

// Derive, override fire(). Removes itself when destroyed.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer();
  virtual void fire() = 0;
  bool armed() const { return heap_ != nullptr; }

 private:
  friend class TimerHeap;
  TimerHeap* heap_ = nullptr;
  std::size_t place_ = 0;
  Instant deadline_{};
  std::uint64_t order_ = 0;
};

class TimerHeap {
 public:
  ~TimerHeap();
  void add(Timer& timer, Instant deadline);
  void remove(Timer& timer);
  std::optional<Instant> next_deadline() const;
  // Takes the earliest timer due at `now` out of the heap; nullptr when none is.
  Timer* pop_due(Instant now);
  std::size_t size() const { return heap_.size(); }

 private:
  static bool before(const Timer& a, const Timer& b);
  void place(Timer* timer, std::size_t at);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);

  std::vector<Timer*> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace fairlead::runtime
