// LazyTimer: a deadline that is moved often and costs the timer heap almost nothing: moving it
// later only stores the new time, and the timer checks that when it fires.
#pragma once

#include <functional>
#include <utility>

#include "foundation/runtime/runtime.h"

namespace fairlead::http {

class LazyTimer final : public runtime::Timer {
 public:
  LazyTimer(runtime::Runtime& runtime, std::function<void()> expired)
      : runtime_(runtime), expired_(std::move(expired)) {}

  void set(Instant deadline) {
    deadline_ = deadline;
    if (armed() && armed_for_ <= deadline) return;
    arm();
  }
  void clear() { deadline_ = Instant::max(); }

  void fire() override {
    if (deadline_ == Instant::max()) return;
    if (runtime_.now() < deadline_) return arm();
    deadline_ = Instant::max();
    expired_();
  }

 private:
  void arm() {
    if (armed()) runtime_.timers().remove(*this);
    armed_for_ = deadline_;
    runtime_.timers().add(*this, deadline_);
  }

  runtime::Runtime& runtime_;
  std::function<void()> expired_;
  Instant deadline_ = Instant::max();
  Instant armed_for_ = Instant::max();
};

}  // namespace fairlead::http
