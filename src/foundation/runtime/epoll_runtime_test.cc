#include "foundation/runtime/epoll_runtime.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <thread>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/stream_scenarios.h"

namespace fairlead::runtime {
namespace {

Task<int> answer() { co_return 42; }
Task<void> nothing() { co_return; }

// The value of the main task comes back, and the runtime can run another.
TEST(EpollRuntime, RunsMainTasks) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(answer()), 42);
  runtime.run_until_complete(nothing());
  EXPECT_EQ(runtime.run_until_complete(answer()), 42);
}

Task<Result<std::string>> sleep_in_order(Runtime& runtime) {
  std::string log;
  const Instant start = runtime.now();
  FL_CO_CHECKED(co_await sleep(runtime, 2ms));
  if (runtime.now() - start < 2ms) co_return fail(Code::internal, "woke early");
  FL_CO_CHECKED(co_await sleep(runtime, -5ms));  // already over
  const Result<> late = co_await with_timeout(runtime, 1ms, sleep(runtime, 1h));
  co_return outcome(late);
}

// Timers never fire early, and a limit ends a long sleep.
TEST(EpollRuntime, Timers) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(sleep_in_order(runtime)), "timeout: timed out");
}

Task<void> spin(Runtime& runtime, bool& stop, long& turns) {
  while (!stop) {
    ++turns;
    co_await yield(runtime);
  }
}

Task<Result<long>> spin_beside_timer(Runtime& runtime) {
  bool stop = false;
  long turns = 0;
  Scope scope(runtime);
  scope.spawn(spin(runtime, stop, turns));
  FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  stop = true;
  co_await scope.join();
  co_return turns;
}

// A fiber that is always ready does not keep timers from firing.
TEST(EpollRuntime, ReadyFibersDoNotStarveTimers) {
  EpollRuntime runtime;
  const Result<long> turns = runtime.run_until_complete(spin_beside_timer(runtime));
  ASSERT_TRUE(turns.has_value());
  EXPECT_GT(*turns, 0);
}

Task<void> flood(Stream& stream, std::string& log) {
  const std::string piece(64 << 10, 'f');
  for (;;) {
    const Result<> written = co_await stream.write(piece);
    if (!written) {
      log = written.error().to_string();
      co_return;
    }
  }
}

Task<void> drain(Stream& stream, std::size_t& total, std::string& log) {
  std::string buffer(256 << 10, '\0');
  for (;;) {
    const Result<std::size_t> n = co_await stream.read(buffer);
    if (!n || *n == 0) {
      log = n ? "end" : n.error().to_string();
      co_return;
    }
    total += *n;
  }
}

Task<Result<std::size_t>> flood_beside_others(Runtime& runtime) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), nullptr, nullptr));
  std::size_t total = 0;
  std::string writer, reader;
  Scope scope(runtime);
  scope.spawn(flood(*pair.client, writer));
  scope.spawn(drain(*pair.server, total, reader));
  for (int i = 0; i < 20; ++i) {
    FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  }
  co_await scope.close();
  if (writer != "cancelled: cancelled" || reader != "cancelled: cancelled")
    co_return fail(Code::internal, writer + " / " + reader);
  co_return total;
}

// A stream whose both ends are always ready neither starves timers nor ignores cancellation.
TEST(EpollRuntime, BusyStreamsGiveWay) {
  EpollRuntime runtime;
  const Result<std::size_t> total = runtime.run_until_complete(flood_beside_others(runtime));
  ASSERT_TRUE(total.has_value()) << outcome(total);
  EXPECT_GT(*total, 0U);
}

Task<Result<std::string>> block_and_return(Runtime& runtime) {
  const std::thread::id loop = std::this_thread::get_id();
  const std::thread::id worker =
      co_await blocking(runtime, [] { return std::this_thread::get_id(); });
  if (std::this_thread::get_id() != loop) co_return fail(Code::internal, "resumed elsewhere");
  if (worker == loop) co_return fail(Code::internal, "worked on the loop");
  bool ran = false;
  co_await blocking(runtime, [&ran] { ran = true; });
  if (!ran) co_return fail(Code::internal, "did not run");
  std::unique_ptr<std::string> owned =
      co_await blocking(runtime, [] { return std::make_unique<std::string>("owned"); });
  co_return *owned;
}

// Work runs on another thread, its value comes back on the loop.
TEST(EpollRuntime, Blocking) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(block_and_return(runtime)), "owned");
}

Task<void> block_on(Runtime& runtime, std::latch& started, std::latch& release,
                    std::atomic<int>& ended) {
  const std::string value = co_await blocking(runtime, [&] {
    started.count_down();
    release.wait();
    ++ended;
    return std::string(1000, 'v');  // lands in a frame that may be gone
  });
  (void)value;
}

Task<void> wait_until_started(Runtime& runtime, std::latch& started) {
  co_await blocking(runtime, [&started] { started.wait(); });
}

// A frame destroyed while its work runs: the work ends undisturbed, and the runtime waits for it.
TEST(EpollRuntime, BlockingOutlivesItsFrame) {
  std::atomic<int> ended = 0;
  std::latch started(1);
  std::latch release(1);
  {
    EpollRuntime runtime;
    {
      Scope scope(runtime);
      scope.spawn(block_on(runtime, started, release, ended));
      runtime.run_until_complete(wait_until_started(runtime, started));
    }
    EXPECT_EQ(ended, 0);
    release.count_down();
  }
  EXPECT_EQ(ended, 1);
}

Task<void> count_up(Runtime& runtime, std::atomic<int>& running, std::atomic<int>& most,
                    int& done) {
  co_await blocking(runtime, [&] {
    const int now = ++running;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    --running;
  });
  ++done;
}

Task<void> many_jobs(Runtime& runtime, std::atomic<int>& most, int& done) {
  std::atomic<int> running = 0;
  Scope scope(runtime);
  for (int i = 0; i < 500; ++i) scope.spawn(count_up(runtime, running, most, done));
  co_await scope.join();
}

// Any number of jobs pass through a bounded number of threads.
TEST(EpollRuntime, BlockingThreadsAreBounded) {
  EpollRuntime runtime({.blocking_threads = 3});
  std::atomic<int> most = 0;
  int done = 0;
  runtime.run_until_complete(many_jobs(runtime, most, done));
  EXPECT_EQ(done, 500);
  EXPECT_LE(most, 3);
}

Task<Result<int>> one_signal(EpollRuntime& runtime) {
  ::kill(::getpid(), SIGUSR2);
  co_return co_await runtime.next_signal();
}

Task<Result<int>> signal_within(EpollRuntime& runtime, Duration limit) {
  co_return co_await with_timeout(runtime, limit, runtime.next_signal());
}

// A caught signal is an awaited value, not an interruption.
TEST(EpollRuntime, Signals) {
  EpollRuntime runtime;
  ASSERT_TRUE(runtime.catch_signals({SIGUSR1, SIGUSR2}).has_value());
  EXPECT_EQ(runtime.run_until_complete(one_signal(runtime)), SIGUSR2);
  EXPECT_EQ(runtime.run_until_complete(signal_within(runtime, 1ms)).error().code, Code::timeout);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

Task<Result<>> wait_for_call(Signal& signal, bool& called) {
  while (!called) {
    FL_CO_CHECKED(co_await signal.wait());
  }
  co_return Result<>{};
}

// Another thread hands the loop a call while it sleeps.
TEST(EpollRuntime, CallsFromOtherThreads) {
  EpollRuntime runtime;
  Signal signal;
  bool called = false;
  std::thread other([&] {
    runtime.call_soon([&] {
      called = true;
      signal.notify();
    });
  });
  EXPECT_EQ(outcome(runtime.run_until_complete(wait_for_call(signal, called))), "ok");
  other.join();
}

// Random numbers do not repeat, across buffers and across runtimes.
TEST(EpollRuntime, RandomNumbers) {
  EpollRuntime one, two;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(one.random());
    seen.insert(two.random());
  }
  EXPECT_EQ(seen.size(), 2000U);
}

// The descriptor limit goes up to what the system grants and no further.
TEST(EpollRuntime, DescriptorLimit) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// Clocks: boot time moves forward, wall time is after this was written.
TEST(EpollRuntime, Clocks) {
  EpollRuntime runtime;
  const Instant first = runtime.now();
  EXPECT_GE(runtime.now(), first);
  EXPECT_GT(runtime.wall_now(), WallTime(std::chrono::sys_days(std::chrono::year(2024) / 1 / 1)));
}

}  // namespace
}  // namespace fairlead::runtime
