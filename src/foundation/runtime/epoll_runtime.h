// EpollRuntime: the Runtime of a real process. One thread runs one loop; everything made from it
// (streams, listeners, scopes) lives on that thread and dies before it.
//
//   EpollRuntime runtime;
//   runtime.catch_signals({SIGTERM, SIGINT});           // mains only
//   return runtime.run_until_complete(serve(runtime));  // Task<int>
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/runtime/blocking_pool.h"
#include "foundation/runtime/disk_files.h"
#include "foundation/runtime/epoll_loop.h"
#include "foundation/runtime/random_source.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/tls_context.h"

namespace fairlead::runtime {

// Raises RLIMIT_NOFILE to its hard limit; the usual soft limit of 1,024 is for programs that use
// select(2). For mains. Returns the limit that holds afterwards.
std::size_t raise_descriptor_limit();

struct EpollOptions {
  std::size_t blocking_threads = 16;
};

class EpollRuntime final : public Runtime {
 public:
  explicit EpollRuntime(EpollOptions options = {});
  // Joins the blocking threads; work that has not begun is dropped.
  ~EpollRuntime() override;

  // Runs until stop() is called on the loop.
  void run() { loop_.run(); }
  void stop() { loop_.stop(); }

  // Runs the loop until `main` has ended and returns its value. REQUIRES: stop() is not called
  // before.
  template <class T>
  T run_until_complete(Task<T> main);

  // Blocks these signals for the whole process; next_signal() then returns them one by one. Call it
  // in a main, before any thread is started.
  Result<> catch_signals(std::initializer_list<int> signals);
  Task<Result<int>> next_signal();

  // From any thread: `call` runs on the loop.
  void call_soon(std::function<void()> call) { loop_.call_soon(std::move(call)); }

  // For other classes of this folder that put descriptors on the loop.
  EpollLoop& loop() { return loop_; }

  void post(Ready& ready) override { loop_.post(ready); }
  Instant now() const override { return loop_.now(); }
  WallTime wall_now() const override;
  std::uint64_t random() override { return random_.next(); }
  TimerHeap& timers() override { return loop_.timers(); }
  Files& files() override { return files_; }
  void start_blocking(BlockingJob job) override;

  Task<Result<std::unique_ptr<Stream>>> connect(Endpoint to,
                                                std::shared_ptr<const TlsCredentials> tls) override;
  Result<std::unique_ptr<Listener>> listen(const Endpoint& at,
                                           std::shared_ptr<const TlsSource> tls) override;
  Result<std::unique_ptr<DatagramSocket>> open_datagram(const Endpoint& at) override;
  Result<std::unique_ptr<PacketSocket>> open_packet(const std::string& interface,
                                                    std::uint16_t ethertype) override;

 private:
  template <class T>
  Task<void> run_main(Task<T> main, std::optional<T>& value) {
    value.emplace(co_await main);
    stop();
  }
  Task<void> run_void_main(Task<void> main, bool& ended) {
    co_await main;
    ended = true;
    stop();
  }

  EpollLoop loop_;
  RandomSource random_;
  DiskFiles files_;
  TlsContexts tls_contexts_;
  std::unique_ptr<Descriptor> signals_;
  std::unique_ptr<BlockingPool> blocking_;  // last: joined before anything it reports to is gone
};

template <class T>
T EpollRuntime::run_until_complete(Task<T> main) {
  Scope scope(*this);
  if constexpr (std::is_void_v<T>) {
    bool ended = false;
    scope.spawn(run_void_main(std::move(main), ended));
    run();
    CHECK(ended);
  } else {
    std::optional<T> value;
    scope.spawn(run_main(std::move(main), value));
    run();
    CHECK(value.has_value());
    return std::move(*value);
  }
}

}  // namespace fairlead::runtime
