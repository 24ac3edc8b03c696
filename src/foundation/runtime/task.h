// Task<T>: a lazy coroutine, and Fiber: the line of execution that a spawned task and everything it
// awaits belong to.
//
// Everything runs on one loop thread; nothing here is shared between threads. A coroutine that
// suspends does so on a Waiter (a timer, a socket, a channel …). Cancelling a fiber wakes the
// Waiter it is suspended on with Code::cancelled, and every later wait of that fiber fails the same
// way at once, so cleanup code runs forward and never hangs.
//
// Name what you await: no capturing lambda, aggregate temporary or ?: inside an expression with
// co_await. Parameters of a coroutine are values or things that outlive it.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/base/result.h"
#include "foundation/runtime/linked.h"

namespace fairlead::runtime {

// Something to run on the loop. Unlinks itself when destroyed, so a dead coroutine is never
// resumed.
class Ready : public Link<Ready> {
 public:
  virtual ~Ready() = default;
  bool queued() const { return Link<Ready>::linked(); }
  virtual void run() = 0;
};

// Each loop has one.
using ReadyQueue = LinkList<Ready, Ready>;

class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(Ready& ready) = 0;
};

class Waiter;

class Fiber {
 public:
  explicit Fiber(Executor& executor) : executor_(executor) {}
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  Executor& executor() const { return executor_; }
  bool cancelled() const { return cancelled_; }
  void cancel();

 private:
  friend class Waiter;
  template <class T>
  friend class Nested;
  Executor& executor_;
  Waiter* waiter_ = nullptr;
  bool cancelled_ = false;
};

// The base of every awaitable leaf. A subclass decides in await_ready / its constructor what it
// waits for, and calls wake() from the loop when that has happened.
class Waiter : public Ready {
 public:
  ~Waiter() override {
    if (fiber_ && fiber_->waiter_ == this) fiber_->waiter_ = nullptr;
  }

  // Makes the coroutine run again soon. Harmless when it already will.
  void wake() {
    if (!handle_ || queued()) return;
    if (fiber_->waiter_ == this) fiber_->waiter_ = nullptr;
    fiber_->executor().post(*this);
  }
  bool suspended() const { return handle_ && !queued(); }

  // Called at most once, while suspended: stop waiting and wake() with an outcome of cancelled.
  virtual void on_cancel() = 0;

  void run() final { std::exchange(handle_, nullptr).resume(); }

 protected:
  template <class Promise>
  void suspend(std::coroutine_handle<Promise> handle) {
    handle_ = handle;
    fiber_ = handle.promise().fiber;
    fiber_->waiter_ = this;
  }
  template <class Promise>
  static bool fiber_cancelled(std::coroutine_handle<Promise> handle) {
    return handle.promise().fiber->cancelled();
  }

 private:
  std::coroutine_handle<> handle_;
  Fiber* fiber_ = nullptr;
};

inline void Fiber::cancel() {
  if (std::exchange(cancelled_, true)) return;
  if (waiter_) std::exchange(waiter_, nullptr)->on_cancel();
}

template <class T = void>
class [[nodiscard]] Task;

namespace detail {

struct PromiseBase {
  Fiber* fiber = nullptr;
  std::coroutine_handle<> continuation;
  Ready* on_end = nullptr;  // for the outermost task of a fiber

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) noexcept {
      PromiseBase& promise = handle.promise();
      if (promise.continuation) return promise.continuation;
      if (promise.on_end) promise.fiber->executor().post(*promise.on_end);
      return std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() {
    std::terminate();
  }  // other people's exceptions end at their wrapper
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  struct Awaiter {
    Handle task;
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> caller) const noexcept {
      task.promise().fiber = caller.promise().fiber;
      task.promise().continuation = caller;
      return task;
    }
    T await_resume() const { return task.promise().take(); }
  };
  Awaiter operator co_await() const& noexcept { return Awaiter{handle_}; }
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

  Handle handle() const { return handle_; }

 private:
  Handle handle_;
};

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace detail

// Runs a task as a fiber of its own inside the awaiting one: cancelling the outer cancels it, and
// it can be cancelled alone (that is what timeouts do).
template <class T>
class Nested : public Waiter {
 public:
  Nested(Executor& executor, Task<T> task) : fiber_(executor), task_(std::move(task)) {}

  void cancel() { fiber_.cancel(); }
  bool cancelled() const { return fiber_.cancelled(); }
  void on_cancel() override { fiber_.cancel(); }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> caller) {
    if (fiber_cancelled(caller)) fiber_.cancel();
    outer_ = caller.promise().fiber;
    outer_->waiter_ = this;
    task_.handle().promise().fiber = &fiber_;
    task_.handle().promise().continuation = caller;
    return task_.handle();
  }
  T await_resume() {
    if (outer_->waiter_ == this) outer_->waiter_ = nullptr;
    outer_ = nullptr;
    return task_.handle().promise().take();
  }
  ~Nested() override {
    if (outer_ && outer_->waiter_ == this) outer_->waiter_ = nullptr;
  }

 private:
  Fiber fiber_;
  Fiber* outer_ = nullptr;
  Task<T> task_;
};

}  // namespace fairlead::runtime

namespace fairlead {
using runtime::Task;
}
