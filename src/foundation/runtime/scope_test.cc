#include "foundation/runtime/scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/manual_runtime.h"

namespace fairlead::runtime {
namespace {

// Counts frames by living in them.
struct Presence {
  explicit Presence(int& the_count) : count(the_count) { ++count; }
  Presence(const Presence&) = delete;
  ~Presence() { --count; }
  int& count;
};

Task<void> sleeper(Runtime& runtime, Duration duration, int& alive, std::string& log) {
  const Presence presence(alive);
  const Result<> slept = co_await sleep(runtime, duration);
  log += slept ? "s" : "c";
}

Task<void> join_and_log(Scope& scope, std::string& log) {
  co_await scope.join();
  log += "j";
}
Task<void> close_and_log(Scope& scope, std::string& log) {
  co_await scope.close();
  log += "j";
}

// join() ends after the last task; close() cancels first.
TEST(Scope, JoinAndClose) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Scope outer(runtime);
  Scope scope(runtime);
  scope.spawn(sleeper(runtime, 1s, alive, log));
  scope.spawn(sleeper(runtime, 3s, alive, log));
  outer.spawn(join_and_log(scope, log));
  runtime.advance(2s);
  EXPECT_EQ(log, "s");
  EXPECT_EQ(scope.size(), 1U);
  runtime.advance(1s);
  EXPECT_EQ(log, "ssj");
  scope.spawn(sleeper(runtime, 1s, alive, log));
  outer.spawn(close_and_log(scope, log));
  runtime.settle();
  EXPECT_EQ(log, "ssjcj");
  EXPECT_EQ(alive, 0);
}

// An empty scope is joined at once.
TEST(Scope, JoinOfNothing) {
  ManualRuntime runtime;
  std::string log;
  Scope outer(runtime);
  Scope scope(runtime);
  outer.spawn(join_and_log(scope, log));
  outer.spawn(close_and_log(scope, log));
  runtime.settle();
  EXPECT_EQ(log, "jj");
}

// Cancelling the joining fiber hands the cancellation on and still waits for the tasks.
TEST(Scope, CancelDuringJoin) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Scope outer(runtime);
  Scope scope(runtime);
  scope.spawn(sleeper(runtime, 9s, alive, log));
  scope.spawn(sleeper(runtime, 9s, alive, log));
  outer.spawn(join_and_log(scope, log));
  runtime.settle();
  outer.cancel();
  runtime.settle();
  EXPECT_EQ(log, "ccj");
}

// A fiber that is cancelled already when it joins does the same.
TEST(Scope, JoinWhenCancelled) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Scope outer(runtime);
  Scope scope(runtime);
  scope.spawn(sleeper(runtime, 9s, alive, log));
  runtime.settle();
  outer.cancel();
  outer.spawn(join_and_log(scope, log));
  runtime.settle();
  EXPECT_EQ(log, "cj");
}

Task<void> spawn_more(Runtime& runtime, Scope& scope, int generations, int& alive,
                      std::string& log) {
  const Presence presence(alive);
  if (generations > 0) scope.spawn(spawn_more(runtime, scope, generations - 1, alive, log));
  const Result<> slept = co_await sleep(runtime, 1s);
  log += slept ? "s" : "c";
}

// What tasks spawn into their own scope is joined too, and starts cancelled once the scope is.
TEST(Scope, TasksSpawnTasks) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Scope outer(runtime);
  Scope scope(runtime);
  scope.spawn(spawn_more(runtime, scope, 3, alive, log));
  outer.spawn(join_and_log(scope, log));
  runtime.advance(1s);
  EXPECT_EQ(log, "ssssj");
  scope.cancel();
  scope.spawn(spawn_more(runtime, scope, 2, alive, log));
  runtime.settle();
  EXPECT_EQ(log, "ssssjccc");
  EXPECT_EQ(scope.size(), 0U);
}

Task<void> owns_a_scope(Runtime& runtime, int& alive, std::string& log) {
  const Presence presence(alive);
  Scope scope(runtime);
  scope.spawn(sleeper(runtime, 9s, alive, log));
  scope.spawn(sleeper(runtime, 9s, alive, log));
  co_await scope.join();
  log += "j";
}

// Scopes nest: cancelling the outermost reaches every task below, in order, and all are joined.
TEST(Scope, NestedCancellation) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Scope scope(runtime);
  scope.spawn(owns_a_scope(runtime, alive, log));
  scope.spawn(owns_a_scope(runtime, alive, log));
  runtime.settle();
  EXPECT_EQ(alive, 6);
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(log, "ccccjj");
}

Task<void> wait_for_signal(Signal& signal, int& alive) {
  const Presence presence(alive);
  (void)co_await signal.wait();
}
Task<void> send_one(Channel<int>& channel, int& alive) {
  const Presence presence(alive);
  (void)co_await channel.send(1);
}
Task<void> receive_one(Channel<int>& channel, int& alive) {
  const Presence presence(alive);
  (void)co_await channel.receive();
}
Task<void> yield_for_ever(Runtime& runtime, int& alive) {
  const Presence presence(alive);
  for (;;) co_await yield(runtime);
}
Task<Result<>> nested_sleep(Runtime& runtime, int& alive) {
  const Presence presence(alive);
  co_return co_await sleep(runtime, 9s);
}
Task<void> limited(Runtime& runtime, int& alive) {
  const Presence presence(alive);
  (void)co_await with_timeout(runtime, 5s, nested_sleep(runtime, alive));
}
Task<void> block(Runtime& runtime, int& alive) {
  const Presence presence(alive);
  const std::string text = co_await blocking(runtime, [] { return std::string(100, 'x'); });
  (void)text;
}
Task<void> ends_at_once(int& alive) {
  const Presence presence(alive);
  co_return;
}

// Destroying a scope destroys its tasks where they stand, in every kind of wait, and the rest of
// the loop goes on untouched.
TEST(Scope, DestroyedWithTasksInEveryWait) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Signal signal;
  Channel<int> full(1);
  Channel<int> empty(1);
  EXPECT_TRUE(full.try_send(0));
  {
    Scope scope(runtime);
    scope.spawn(sleeper(runtime, 9s, alive, log));
    scope.spawn(wait_for_signal(signal, alive));
    scope.spawn(send_one(full, alive));
    scope.spawn(receive_one(empty, alive));
    scope.spawn(limited(runtime, alive));
    scope.spawn(block(runtime, alive));
    scope.spawn(owns_a_scope(runtime, alive, log));
    runtime.settle();
    scope.spawn(yield_for_ever(runtime, alive));
    scope.spawn(ends_at_once(alive));  // never starts
    EXPECT_EQ(alive, 10);
    EXPECT_EQ(runtime.blocking_jobs(), 1U);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(runtime.idle());
  signal.notify();
  EXPECT_TRUE(full.try_receive().has_value());
  EXPECT_TRUE(empty.try_send(1));
  EXPECT_TRUE(runtime.run_blocking_job());  // its value has nowhere to go
  runtime.advance(20s);
  EXPECT_EQ(log, "");
}

// The same when each wait is already over and its fiber queued to go on.
TEST(Scope, DestroyedWithTasksReadyToRun) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Signal signal;
  Channel<int> full(1);
  Channel<int> empty(1);
  EXPECT_TRUE(full.try_send(0));
  {
    Scope scope(runtime);
    scope.spawn(sleeper(runtime, 9s, alive, log));
    scope.spawn(wait_for_signal(signal, alive));
    scope.spawn(send_one(full, alive));
    scope.spawn(receive_one(empty, alive));
    scope.spawn(limited(runtime, alive));
    scope.spawn(block(runtime, alive));
    scope.spawn(owns_a_scope(runtime, alive, log));
    runtime.settle();
    signal.notify();
    (void)full.try_receive();
    (void)empty.try_send(1);
    EXPECT_TRUE(runtime.run_blocking_job());
    runtime.advance_without_running(9s);
    scope.cancel();
    EXPECT_FALSE(runtime.idle());
  }
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(runtime.idle());
  runtime.advance(20s);
  EXPECT_EQ(log, "");
}

// What is waited for may go first: the waiters stay asleep until they are cancelled.
TEST(Scope, WaitersOutliveWhatTheyWaitFor) {
  ManualRuntime runtime;
  int alive = 0;
  Scope scope(runtime);
  {
    Signal signal;
    Channel<int> full(1);
    Channel<int> empty(1);
    EXPECT_TRUE(full.try_send(0));
    scope.spawn(wait_for_signal(signal, alive));
    scope.spawn(wait_for_signal(signal, alive));
    scope.spawn(send_one(full, alive));
    scope.spawn(receive_one(empty, alive));
    runtime.settle();
  }
  EXPECT_EQ(alive, 4);
  EXPECT_TRUE(runtime.idle());
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(alive, 0);
}

// A scope that is destroyed while another fiber joins it lets that fiber go on.
TEST(Scope, DestroyedWhileJoined) {
  ManualRuntime runtime;
  int alive = 0;
  std::string log;
  Scope outer(runtime);
  {
    Scope scope(runtime);
    scope.spawn(sleeper(runtime, 9s, alive, log));
    outer.spawn(join_and_log(scope, log));
    runtime.settle();
  }
  outer.cancel();
  runtime.settle();
  EXPECT_EQ(log, "j");
  EXPECT_EQ(alive, 0);
}

// The loop may go before a scope whose tasks wait on it or are queued.
TEST(Scope, OutlivesTheQueue) {
  int alive = 0;
  std::string log;
  auto runtime = std::make_unique<ManualRuntime>();
  Scope scope(*runtime);
  scope.spawn(sleeper(*runtime, 9s, alive, log));
  scope.spawn(limited(*runtime, alive));
  runtime->settle();
  scope.spawn(yield_for_ever(*runtime, alive));
  runtime.reset();
  EXPECT_EQ(alive, 3);
}

}  // namespace
}  // namespace fairlead::runtime
