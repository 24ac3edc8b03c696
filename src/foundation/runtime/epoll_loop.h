// EpollLoop: the event loop of EpollRuntime. Ready coroutines, timers, descriptors that became
// ready and calls from other threads all run here, on one thread.
//
// Descriptors are registered once, edge-triggered, for both directions. Each remembers the kernel's
// last answer, so an operation tries its system call first, waits only after EAGAIN, and does not
// try again before the next edge. Nothing is allocated per wait.
//
// Fairness: after a number of ready items the loop polls the kernel again, and a fiber whose
// operations never block yields at a checkpoint after a number of them.
//
// Used by the sockets in this folder only; components see Runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/linked.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"
#include "foundation/runtime/timer_heap.h"

struct epoll_event;

namespace fairlead::runtime {

class Descriptor;
class Readiness;
class Checkpoint;

class EpollLoop {
 public:
  EpollLoop();
  EpollLoop(const EpollLoop&) = delete;
  EpollLoop& operator=(const EpollLoop&) = delete;
  ~EpollLoop();

  void post(Ready& ready) { ready_.push(ready); }
  TimerHeap& timers() { return timers_; }
  Instant now() const;

  // Runs until stop(). Returns at once if stop() was called since the last run.
  void run();
  // On the loop thread only.
  void stop() { stopped_ = true; }

  // From any thread: `call` runs on the loop soon.
  void call_soon(std::function<void()> call);
  // Drops what was handed over and has not run. No other thread may use the loop any more.
  void drop_calls();

  // co_await at the start of each operation that may succeed without waiting → Result<>.
  // checkpoint() fails as soon as the fiber is cancelled; give_way() only when it would have to
  // wait, so that a cancelled fiber can still send a closing message (TLS close_notify).
  Checkpoint checkpoint();
  Checkpoint give_way();

 private:
  friend class Descriptor;
  friend class Checkpoint;
  void add(Descriptor& descriptor);
  void remove(Descriptor& descriptor);
  void run_ready();
  void wait_for_events();
  int poll_kernel(epoll_event* events, int room, bool forever, Duration wait);
  void fire_timers();
  void run_calls();

  int epoll_ = -1;
  int wakeup_ = -1;         // eventfd, written by other threads
  bool has_pwait2_ = true;  // Linux 5.11; without it timers are exact to a millisecond only
  bool stopped_ = false;
  int operations_left_ = 0;  // until the running fiber has to yield
  ReadyQueue ready_;
  TimerHeap timers_;
  std::mutex calls_mutex_;
  std::vector<std::function<void()>> calls_;
};

// One open file descriptor of the loop, owned. REQUIRES: the loop outlives it.
class Descriptor {
 public:
  // Takes over `fd`, which is non-blocking. For a connecting socket call connect(2) first: before
  // that, the kernel reports it as hung up.
  Descriptor(EpollLoop& loop, int fd);
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  EpollLoop& loop() { return loop_; }
  int fd() const { return fd_; }
  bool closed() const { return fd_ < 0; }
  // Wakes all waiters, which then fail with unavailable. Idempotent.
  void close();

  // Readiness as far as known without a system call; true until an operation reports EAGAIN.
  bool may_read() const { return readable_; }
  bool may_write() const { return writable_; }
  // The kernel answered EAGAIN: wait for the next edge before another try.
  void read_blocked() { readable_ = false; }
  void write_blocked() { writable_ = false; }
  // A stream gave less than was asked for, so it is empty until the next edge; but when the peer
  // has ended its side no further edge comes, and reading on is what shows the end.
  void read_short() { readable_ = read_ended_; }

  // co_await → Result<>: cancelled, unavailable once closed, or "try again".
  Readiness readable();
  Readiness writable();

 private:
  friend class EpollLoop;
  friend class Readiness;
  void on_events(std::uint32_t events);

  EpollLoop& loop_;
  int fd_;
  bool readable_ = true;
  bool writable_ = true;
  bool read_ended_ = false;
  LinkList<Readiness> readers_;
  LinkList<Readiness> writers_;
};

class Readiness final : public Waiter, public Link<> {
 public:
  Readiness(Descriptor& descriptor, bool write) : descriptor_(descriptor), write_(write) {}

  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (fiber_cancelled(handle)) {
      cancelled_ = true;
      return false;
    }
    if (descriptor_.closed() || (write_ ? descriptor_.writable_ : descriptor_.readable_))
      return false;
    suspend(handle);
    (write_ ? descriptor_.writers_ : descriptor_.readers_).push(*this);
    return true;
  }
  // Checks the descriptor again: it must still exist when its waiter is resumed.
  Result<> await_resume() const {
    if (cancelled_) return fail(Code::cancelled, "cancelled");
    if (descriptor_.closed()) return fail(Code::unavailable, "connection closed");
    return {};
  }
  void on_cancel() override {
    cancelled_ = true;
    Link<>::unlink();
    wake();
  }

 private:
  Descriptor& descriptor_;
  bool write_;
  bool cancelled_ = false;
};

inline Readiness Descriptor::readable() { return Readiness(*this, false); }
inline Readiness Descriptor::writable() { return Readiness(*this, true); }

class Checkpoint final : public Waiter {
 public:
  Checkpoint(EpollLoop& loop, bool lenient) : loop_(loop), lenient_(lenient) {}

  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    const bool may_go_on = loop_.operations_left_-- > 0;
    cancelled_ = fiber_cancelled(handle) && !(lenient_ && may_go_on);
    if (cancelled_ || may_go_on) return false;
    suspend(handle);
    wake();
    return true;
  }
  Result<> await_resume() const {
    if (cancelled_) return fail(Code::cancelled, "cancelled");
    return {};
  }
  void on_cancel() override {}

 private:
  EpollLoop& loop_;
  bool lenient_;
  bool cancelled_ = false;
};

inline Checkpoint EpollLoop::checkpoint() { return Checkpoint(*this, false); }
inline Checkpoint EpollLoop::give_way() { return Checkpoint(*this, true); }

}  // namespace fairlead::runtime
