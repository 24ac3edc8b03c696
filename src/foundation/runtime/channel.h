// Channel<T>: a bounded queue between fibers of one loop; Signal: "something changed, look again".
//
// Use a Channel for events (the bound is part of its contract) and a Signal beside plain state for
// desired state, where only the latest value matters.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "foundation/base/result.h"
#include "foundation/runtime/linked.h"
#include "foundation/runtime/task.h"

namespace fairlead::runtime {

class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  // Wakes every fiber that waits now. One that is not waiting misses it: check the state, then
  // wait.
  void notify();

  class Wait;
  // co_await signal.wait() → Result<>: cancelled, or notified.
  Wait wait();

 private:
  LinkList<Wait> waits_;  // if destroyed before its waits, those wait on until cancelled
};

class Signal::Wait : public Waiter, public Link<> {
 public:
  explicit Wait(Signal& signal) : signal_(signal) {}
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (fiber_cancelled(handle)) {
      given_up_ = "cancelled";
      return false;
    }
    suspend(handle);
    signal_.waits_.push(*this);
    return true;
  }
  Result<> await_resume() const {
    if (given_up_) return fail(code_, given_up_);
    return {};
  }
  void on_cancel() override { give_up(Code::cancelled, "cancelled"); }

 protected:
  // Stops waiting, with this outcome; not if it was notified already.
  void give_up(Code code, const char* why) {
    if (!suspended()) return;
    code_ = code;
    given_up_ = why;
    Link<>::unlink();
    wake();
  }

 private:
  Signal& signal_;
  Code code_ = Code::cancelled;
  const char* given_up_ = nullptr;
};

inline Signal::Wait Signal::wait() { return Wait(*this); }

inline void Signal::notify() {
  while (Wait* wait = waits_.pop()) wait->wake();
}

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) { CHECK(capacity > 0); }

  // False when full or closed: the value was not taken.
  bool try_send(T value) {
    if (closed_ || queue_.size() >= capacity_) return false;
    queue_.push_back(std::move(value));
    readable_.notify();
    return true;
  }

  // Waits for room. Fails with cancelled, or with unavailable once closed.
  Task<Result<>> send(T value) {
    while (!closed_ && queue_.size() >= capacity_) {
      FL_CO_CHECKED(co_await writable_.wait());
    }
    if (closed_) co_return fail(Code::unavailable, "channel closed");
    queue_.push_back(std::move(value));
    readable_.notify();
    co_return Result<>{};
  }

  std::optional<T> try_receive() {
    if (queue_.empty()) return std::nullopt;
    std::optional<T> value(std::move(queue_.front()));
    queue_.pop_front();
    writable_.notify();
    return value;
  }

  // The next value; what was sent before close() is still delivered. Then unavailable.
  Task<Result<T>> receive() {
    for (;;) {
      if (std::optional<T> value = try_receive()) co_return std::move(*value);
      if (closed_) co_return fail(Code::unavailable, "channel closed");
      FL_CO_CHECKED(co_await readable_.wait());
    }
  }

  void close() {
    closed_ = true;
    readable_.notify();
    writable_.notify();
  }
  bool closed() const { return closed_; }
  std::size_t size() const { return queue_.size(); }

 private:
  std::size_t capacity_;
  std::deque<T> queue_;
  Signal readable_;
  Signal writable_;
  bool closed_ = false;
};

}  // namespace fairlead::runtime
