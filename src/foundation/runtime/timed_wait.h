// TimedWait: waits for a Signal until a deadline. Like with_timeout(), but without a fiber and a
// coroutine frame of its own: for many long waits, such as those of watches.
//
//   TimedWait wait(runtime, changed, deadline);
//   const Result<> woken = co_await wait;  // notified, or fails with timeout or cancelled
#pragma once

#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::runtime {

class TimedWait final : public Signal::Wait, private Timer {
 public:
  TimedWait(Runtime& runtime, Signal& signal, Instant deadline)
      : Wait(signal), runtime_(runtime), deadline_(deadline) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!Wait::await_suspend(handle)) return false;
    runtime_.timers().add(*this, deadline_);
    return true;
  }

 private:
  void fire() override { give_up(Code::timeout, "timed out"); }

  Runtime& runtime_;
  Instant deadline_;
};

}  // namespace fairlead::runtime
