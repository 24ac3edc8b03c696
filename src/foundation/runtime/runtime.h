// Runtime: the one seam between components and the outside: time, randomness, network, files,
// blocking work. Components take a Runtime& and never see a clock, a socket call or a thread.
//
// Two implementations: EpollRuntime (production, one thread per loop) and sim::Machine (a machine
// in the seeded virtual world). The same component code runs on both.
//
// TLS belongs to the seam: production speaks it with OpenSSL on the socket; the virtual world
// checks the same certificates but does not spend time on encrypting.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/stream.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"
#include "foundation/runtime/timer_heap.h"

namespace fairlead::runtime {

// Small files, read and written whole. Synchronous: for start-up, credentials and snapshots.
class Files {
 public:
  virtual ~Files() = default;
  virtual Result<std::string> read(const std::string& path) = 0;
  // Temporary file, fsync, rename, fsync of the folder: after it returns the bytes survive a power
  // cut, and no reader ever sees a part of them.
  virtual Result<> write_atomically(const std::string& path, std::string_view bytes, int mode) = 0;
  virtual Result<> remove(const std::string& path) = 0;
  virtual Result<> make_directories(const std::string& path, int mode) = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
};

// Credentials that can be replaced while in use: every handshake takes the ones of that moment.
class TlsSource {
 public:
  virtual ~TlsSource() = default;
  virtual std::shared_ptr<const TlsCredentials> current() const = 0;
};

// A job for another thread. `work` runs there and must touch nothing that the loop touches; `done`
// then runs on the loop. In simulation both run on the loop after a drawn delay.
struct BlockingJob {
  std::function<void()> work;
  std::function<void()> done;
};

class Runtime : public Executor {
 public:
  virtual Instant now() const = 0;
  virtual WallTime wall_now() const = 0;
  virtual std::uint64_t random() = 0;  // 64 uniform bits; unpredictable in production

  virtual TimerHeap& timers() = 0;
  virtual Files& files() = 0;
  virtual void start_blocking(BlockingJob job) = 0;

  // `tls` null means a plain connection. Name resolution happens inside.
  virtual Task<Result<std::unique_ptr<Stream>>> connect(
      Endpoint to, std::shared_ptr<const TlsCredentials> tls) = 0;
  virtual Result<std::unique_ptr<Listener>> listen(const Endpoint& at,
                                                   std::shared_ptr<const TlsSource> tls) = 0;
  virtual Result<std::unique_ptr<DatagramSocket>> open_datagram(const Endpoint& at) = 0;
  virtual Result<std::unique_ptr<PacketSocket>> open_packet(const std::string& interface,
                                                            std::uint16_t ethertype) = 0;
};

// co_await sleep(runtime, 50ms) → Result<>: fails only with cancelled.
Task<Result<>> sleep(Runtime& runtime, Duration duration);
Task<Result<>> sleep_until(Runtime& runtime, Instant deadline);

// Lets every fiber that is ready run first.
Task<void> yield(Runtime& runtime);

namespace detail {

// Arms on construction, cancels the nested operation when it fires.
template <class T>
class Deadline final : public Timer {
 public:
  Deadline(Runtime& runtime, Duration after, Nested<T>& operation) : operation_(operation) {
    runtime.timers().add(*this, runtime.now() + after);
  }
  void fire() override {
    fired_ = !operation_.cancelled();  // the first cause of cancellation decides the outcome
    operation_.cancel();
  }
  bool fired() const { return fired_; }

 private:
  Nested<T>& operation_;
  bool fired_ = false;
};

class BlockingWait final : public Waiter {
 public:
  BlockingWait(Runtime& runtime, std::function<void()> work);
  ~BlockingWait() override;
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    suspend(handle);
    start();
  }
  void await_resume() {}
  void on_cancel() override {}  // blocking work cannot be cancelled: wait for its outcome

 private:
  void start();
  struct Notice;
  Runtime& runtime_;
  std::function<void()> work_;
  std::shared_ptr<Notice> notice_;
};

}  // namespace detail

// The operation's own result, or timeout when `limit` passed first (the operation is then cancelled
// and waited for, so nothing of it is left behind).
template <class T>
Task<Result<T>> with_timeout(Runtime& runtime, Duration limit, Task<Result<T>> operation) {
  Nested<Result<T>> nested(runtime, std::move(operation));
  detail::Deadline<Result<T>> deadline(runtime, limit, nested);
  Result<T> result = co_await nested;
  if (!result && result.error().code == Code::cancelled && deadline.fired())
    co_return fail(Code::timeout, "timed out");
  co_return result;
}

// Runs `work` off the loop and resumes with its value. The awaiting frame may be destroyed
// meanwhile: the work and its value are kept until it has ended. REQUIRES: what `work` refers to
// outlives it.
template <class Work>
auto blocking(Runtime& runtime, Work work) -> Task<decltype(work())> {
  using T = decltype(work());
  if constexpr (std::is_void_v<T>) {
    auto job = std::make_shared<Work>(std::move(work));
    detail::BlockingWait wait(runtime, [job] { (*job)(); });
    co_await wait;
  } else {
    struct Job {
      Work work;
      std::optional<T> value;
    };
    auto job = std::make_shared<Job>(std::move(work), std::nullopt);
    detail::BlockingWait wait(runtime, [job] { job->value.emplace(job->work()); });
    co_await wait;
    co_return std::move(*job->value);
  }
}

}  // namespace fairlead::runtime
