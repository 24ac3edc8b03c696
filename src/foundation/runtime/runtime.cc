#include "foundation/runtime/runtime.h"

#include <utility>

namespace fairlead::runtime {
namespace {

class SleepWait final : public Waiter, public Timer {
 public:
  SleepWait(Runtime& runtime, Instant deadline) : runtime_(runtime), deadline_(deadline) {}
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (fiber_cancelled(handle)) {
      cancelled_ = true;
      return false;
    }
    suspend(handle);
    runtime_.timers().add(*this, deadline_);
    return true;
  }
  Result<> await_resume() const {
    if (cancelled_) return fail(Code::cancelled, "cancelled");
    return {};
  }
  void fire() override { wake(); }
  void on_cancel() override {
    cancelled_ = true;
    runtime_.timers().remove(*this);
    wake();
  }

 private:
  Runtime& runtime_;
  Instant deadline_;
  bool cancelled_ = false;
};

class YieldWait final : public Waiter {
 public:
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    suspend(handle);
    wake();
  }
  void await_resume() {}
  void on_cancel() override {}
};

}  // namespace

Task<Result<>> sleep(Runtime& runtime, Duration duration) {
  SleepWait wait(runtime, runtime.now() + duration);
  co_return co_await wait;
}

Task<Result<>> sleep_until(Runtime& runtime, Instant deadline) {
  SleepWait wait(runtime, deadline);
  co_return co_await wait;
}

Task<void> yield(Runtime&) {
  YieldWait wait;
  co_await wait;
}

namespace detail {

// Outlives the waiter if the waiting frame is destroyed while the work is still running.
struct BlockingWait::Notice {
  BlockingWait* waiter;
};

BlockingWait::BlockingWait(Runtime& runtime, std::function<void()> work)
    : runtime_(runtime), work_(std::move(work)) {}

BlockingWait::~BlockingWait() {
  if (notice_) notice_->waiter = nullptr;
}

void BlockingWait::start() {
  notice_ = std::make_shared<Notice>(this);
  runtime_.start_blocking({.work = std::move(work_), .done = [notice = notice_] {
                             if (notice->waiter) notice->waiter->wake();
                           }});
}

}  // namespace detail
}  // namespace fairlead::runtime
