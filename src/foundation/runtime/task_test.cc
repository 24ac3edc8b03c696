#include "foundation/runtime/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::runtime {
namespace {

std::string outcome(const Result<>& result) { return result ? "ok" : result.error().to_string(); }

Task<int> number(int n) { co_return n; }

Task<void> sum_up(int count, long& sum) {
  for (int i = 0; i < count; ++i) sum += co_await number(i);
}

// Awaiting a task that completes at once, over and over, uses no stack.
TEST(Task, ManySynchronousAwaits) {
  ManualRuntime runtime;
  Scope scope(runtime);
  long sum = 0;
  scope.spawn(sum_up(1'000'000, sum));
  EXPECT_EQ(sum, 0);  // starts on the next turn
  runtime.settle();
  EXPECT_EQ(sum, 499'999'500'000);
  EXPECT_EQ(scope.size(), 0U);
}

Task<int> depth(int n) {
  if (n == 0) co_return 0;
  const int below = co_await depth(n - 1);
  co_return below + 1;
}

Task<void> keep_depth(int n, int& result) { result = co_await depth(n); }

// A deep chain of awaits unwinds without recursion.
TEST(Task, DeepChain) {
  ManualRuntime runtime;
  Scope scope(runtime);
  int result = 0;
  scope.spawn(keep_depth(100'000, result));
  runtime.settle();
  EXPECT_EQ(result, 100'000);
}

Task<std::unique_ptr<int>> make_owned() { co_return std::make_unique<int>(5); }
Task<void> take_owned(int& into) {
  const std::unique_ptr<int> owned = co_await make_owned();
  into = *owned;
}

// Values that can only be moved pass through.
TEST(Task, MoveOnlyValue) {
  ManualRuntime runtime;
  Scope scope(runtime);
  int value = 0;
  scope.spawn(take_owned(value));
  runtime.settle();
  EXPECT_EQ(value, 5);
}

// A task that was never started is simply dropped.
TEST(Task, NeverStarted) {
  const Task<int> task = number(1);
  Task<int> replaced = number(2);
  replaced = number(3);
}

Task<void> sleep_thrice(Runtime& runtime, std::vector<std::string>& log) {
  for (int i = 0; i < 3; ++i) {
    const Result<> slept = co_await sleep(runtime, 10s);
    log.push_back(outcome(slept));
  }
}

// Cancelling wakes the wait under way, and every later wait fails at once.
TEST(Task, CancellationIsSticky) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::vector<std::string> log;
  scope.spawn(sleep_thrice(runtime, log));
  runtime.advance(15s);
  EXPECT_EQ(log, std::vector<std::string>{"ok"});
  scope.cancel();
  EXPECT_EQ(log.size(), 1U);  // it runs on the loop, not inside cancel()
  runtime.settle();
  EXPECT_EQ(log, (std::vector<std::string>{"ok", "cancelled: cancelled", "cancelled: cancelled"}));
  EXPECT_EQ(runtime.timers().size(), 0U);
  EXPECT_EQ(scope.size(), 0U);
}

// A fiber cancelled before its first turn still runs, and its first wait fails.
TEST(Task, CancelledBeforeStart) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::vector<std::string> log;
  scope.spawn(sleep_thrice(runtime, log));
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(log.size(), 3U);
  EXPECT_EQ(log[0], "cancelled: cancelled");
}

// A wait that is over when the cancellation comes keeps its outcome; the next one fails.
TEST(Task, CancelledInTheTurnOfCompletion) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::vector<std::string> log;
  scope.spawn(sleep_thrice(runtime, log));
  runtime.settle();
  runtime.advance_without_running(10s);
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(log, (std::vector<std::string>{"ok", "cancelled: cancelled", "cancelled: cancelled"}));
}

Task<void> yield_and_log(Runtime& runtime, std::string name, std::string& log) {
  for (int i = 0; i < 3; ++i) {
    log += name;
    co_await yield(runtime);
  }
}

// Yielding lets the others run, in turn.
TEST(Task, YieldTakesTurns) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::string log;
  scope.spawn(yield_and_log(runtime, "a", log));
  scope.spawn(yield_and_log(runtime, "b", log));
  scope.spawn(yield_and_log(runtime, "c", log));
  runtime.settle();
  EXPECT_EQ(log, "abcabcabc");
}

Task<Result<>> sleep_and_say(Runtime& runtime, Duration duration, bool& cleaned) {
  const Result<> slept = co_await sleep(runtime, duration);
  cleaned = true;
  co_return slept;
}

Task<void> time_limited(Runtime& runtime, Duration limit, Duration duration, bool& cleaned,
                        std::string& log) {
  const Result<> result =
      co_await with_timeout(runtime, limit, sleep_and_say(runtime, duration, cleaned));
  log = outcome(result);
}

// The operation in time; the limit first; both at one instant, where the operation was first to be
// added to the clock and then the limit.
TEST(WithTimeout, WhoeverIsFirst) {
  const struct {
    Duration limit, duration;
    const char* expected;
  } cases[] = {{2s, 1s, "ok"}, {1s, 2s, "timeout: timed out"}};
  for (const auto& c : cases) {
    ManualRuntime runtime;
    Scope scope(runtime);
    bool cleaned = false;
    std::string log;
    scope.spawn(time_limited(runtime, c.limit, c.duration, cleaned, log));
    runtime.advance(1s);
    EXPECT_EQ(log, c.expected);
    EXPECT_TRUE(cleaned);
    EXPECT_EQ(runtime.timers().size(), 0U);
  }
}

// Limit and operation fall due at one instant: the limit was armed first, so it wins the tie, and
// the operation is cancelled cleanly.
TEST(WithTimeout, TieAtOneInstant) {
  ManualRuntime runtime;
  Scope scope(runtime);
  bool cleaned = false;
  std::string log;
  scope.spawn(time_limited(runtime, 1s, 1s, cleaned, log));
  runtime.advance(1s);
  EXPECT_EQ(log, "timeout: timed out");
  EXPECT_TRUE(cleaned);
}

// The operation's wait ended earlier in the same turn in which the limit fires: its result stands.
TEST(WithTimeout, CompletionEarlierInTheTurn) {
  ManualRuntime runtime;
  Scope scope(runtime);
  bool cleaned = false;
  std::string log;
  scope.spawn(time_limited(runtime, 2s, 1s, cleaned, log));
  runtime.settle();
  runtime.advance_without_running(3s);  // fires both, the operation's first, before anything runs
  runtime.settle();
  EXPECT_EQ(log, "ok");
}

// Cancelled from outside, an operation under a limit says cancelled, even if the limit passes while
// it cleans up.
TEST(WithTimeout, OuterCancellation) {
  ManualRuntime runtime;
  Scope scope(runtime);
  bool cleaned = false;
  std::string log;
  scope.spawn(time_limited(runtime, 5s, 10s, cleaned, log));
  runtime.settle();
  scope.cancel();
  runtime.advance_without_running(6s);
  runtime.settle();
  EXPECT_EQ(log, "cancelled: cancelled");
  EXPECT_TRUE(cleaned);
}

Task<Result<>> limited_sleep(Runtime& runtime, Duration limit, Duration duration) {
  co_return co_await with_timeout(runtime, limit, sleep(runtime, duration));
}

Task<void> doubly_limited(Runtime& runtime, Duration outer, Duration inner, std::string& log) {
  const Result<> result = co_await with_timeout(runtime, outer, limited_sleep(runtime, inner, 10s));
  log = outcome(result);
}

// Limits nest, and it shows which of them struck in what is left behind: nothing.
TEST(WithTimeout, Nests) {
  for (const auto& [outer, inner] : {std::pair(1s, 2s), std::pair(2s, 1s)}) {
    ManualRuntime runtime;
    Scope scope(runtime);
    std::string log;
    scope.spawn(doubly_limited(runtime, outer, inner, log));
    runtime.advance(999ms);
    EXPECT_EQ(log, "");
    runtime.advance(1ms);
    EXPECT_EQ(log, "timeout: timed out");
    EXPECT_EQ(runtime.timers().size(), 0U);
  }
}

// A fiber that was cancelled already gets no time at all.
TEST(WithTimeout, StartedWhenCancelled) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::string log;
  scope.spawn(doubly_limited(runtime, 1s, 2s, log));
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(log, "cancelled: cancelled");
}

Task<Result<>> refuse_to_stop(Runtime& runtime) {
  // Blocking work cannot be called back; its outcome is waited for.
  const int value = co_await blocking(runtime, [] { return 7; });
  if (value != 7) co_return fail(Code::internal, "wrong value");
  co_return Result<>{};
}

Task<void> limited_blocking(Runtime& runtime, std::string& log) {
  const Result<> result = co_await with_timeout(runtime, 1s, refuse_to_stop(runtime));
  log = outcome(result);
}

// What cannot be cancelled is waited for, and its success is reported as such.
TEST(WithTimeout, WaitsForWhatCannotBeCancelled) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::string log;
  scope.spawn(limited_blocking(runtime, log));
  runtime.advance(2s);
  EXPECT_EQ(log, "");
  EXPECT_TRUE(runtime.run_blocking_job());
  runtime.settle();
  EXPECT_EQ(log, "ok");
}

}  // namespace
}  // namespace fairlead::runtime
