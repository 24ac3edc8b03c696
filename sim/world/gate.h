// Gate: where one fiber waits for one thing in the simulated kernel (bytes, room, a connection).
// Enforces the contract of the seam that a socket has one reader and one writer at a time.
#pragma once

#include <coroutine>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/base/result.h"
#include "foundation/runtime/task.h"

namespace fairlead::sim {

class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { CHECK(!wait_); }

  class Wait;
  // co_await gate.wait() → Result<>: cancelled, or opened. Look again, then.
  Wait wait();
  void open();
  bool waited_on() const { return wait_ != nullptr; }

 private:
  Wait* wait_ = nullptr;
};

class Gate::Wait final : public runtime::Waiter {
 public:
  explicit Wait(Gate& gate) : gate_(gate) {}
  Wait(Wait&&) = delete;
  ~Wait() override { leave(); }
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (fiber_cancelled(handle)) {
      cancelled_ = true;
      return false;
    }
    CHECK(!gate_.wait_);
    gate_.wait_ = this;
    suspend(handle);
    return true;
  }
  Result<> await_resume() const {
    if (cancelled_) return fail(Code::cancelled, "cancelled");
    return {};
  }
  void on_cancel() override {
    cancelled_ = true;
    leave();
    wake();
  }

 private:
  friend class Gate;
  void leave() {
    if (gate_.wait_ == this) gate_.wait_ = nullptr;
  }
  Gate& gate_;
  bool cancelled_ = false;
};

// co_await at the start of an operation that takes something in: fails with cancelled as soon as
// the fiber is, even when the operation would not have to wait. The same as in production.
class Checkpoint {
 public:
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    cancelled_ = handle.promise().fiber->cancelled();
    return false;
  }
  Result<> await_resume() const {
    if (cancelled_) return fail(Code::cancelled, "cancelled");
    return {};
  }

 private:
  bool cancelled_ = false;
};

inline Gate::Wait Gate::wait() { return Wait(*this); }

inline void Gate::open() {
  if (Wait* wait = std::exchange(wait_, nullptr)) wait->wake();
}

}  // namespace fairlead::sim
