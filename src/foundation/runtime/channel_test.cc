#include "foundation/runtime/channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::runtime {
namespace {

Task<void> produce(Channel<int>& channel, int from, int to, std::string& log) {
  for (int i = from; i < to; ++i) {
    const Result<> sent = co_await channel.send(i);
    if (!sent) {
      log += "[" + sent.error().to_string() + "]";
      co_return;
    }
    log += "+" + std::to_string(i);
  }
}

Task<void> consume(Channel<int>& channel, std::vector<int>& values, std::string& log) {
  for (;;) {
    const Result<int> value = co_await channel.receive();
    if (!value) {
      log += "[" + value.error().to_string() + "]";
      co_return;
    }
    values.push_back(*value);
  }
}

// The bound holds senders back; values arrive in order.
TEST(Channel, BoundAndOrder) {
  ManualRuntime runtime;
  Channel<int> channel(2);
  Scope scope(runtime);
  std::string log;
  scope.spawn(produce(channel, 0, 5, log));
  runtime.settle();
  EXPECT_EQ(log, "+0+1");
  EXPECT_EQ(channel.try_receive(), 0);
  runtime.settle();
  EXPECT_EQ(log, "+0+1+2");
  EXPECT_FALSE(channel.try_send(9));
  std::vector<int> values;
  scope.spawn(consume(channel, values, log));
  runtime.settle();
  EXPECT_EQ(values, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(channel.try_receive(), std::nullopt);
}

// After close() what was sent is still delivered; then both sides learn of the end.
TEST(Channel, CloseDeliversTheRest) {
  ManualRuntime runtime;
  Channel<int> channel(2);
  Scope scope(runtime);
  std::string log;
  std::vector<int> values;
  scope.spawn(produce(channel, 0, 5, log));
  runtime.settle();
  channel.close();
  EXPECT_FALSE(channel.try_send(9));
  runtime.settle();
  EXPECT_EQ(log, "+0+1[unavailable: channel closed]");
  scope.spawn(consume(channel, values, log));
  runtime.settle();
  EXPECT_EQ(values, (std::vector<int>{0, 1}));
  EXPECT_EQ(log, "+0+1[unavailable: channel closed][unavailable: channel closed]");
}

// Several receivers share the values; each value goes to exactly one.
TEST(Channel, ManyReceivers) {
  ManualRuntime runtime;
  Channel<int> channel(4);
  Scope scope(runtime);
  std::string log;
  std::vector<std::vector<int>> values(3);
  for (std::vector<int>& each : values) scope.spawn(consume(channel, each, log));
  runtime.settle();
  scope.spawn(produce(channel, 0, 100, log));
  runtime.settle();
  std::vector<int> all;
  for (const std::vector<int>& each : values) all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
}

// A receiver cancelled in the turn in which a value arrived does not take the value with it.
TEST(Channel, CancelledReceiverLosesNothing) {
  ManualRuntime runtime;
  Channel<int> channel(1);
  Scope scope(runtime);
  std::string log;
  std::vector<int> values;
  scope.spawn(consume(channel, values, log));
  runtime.settle();
  EXPECT_TRUE(channel.try_send(1));
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(values.size() + channel.size(), 1U);
}

Task<void> receive_owned(Channel<std::unique_ptr<int>>& channel, int& into) {
  const Result<std::unique_ptr<int>> value = co_await channel.receive();
  if (value) into = **value;
}

// Values that can only be moved pass through.
TEST(Channel, MoveOnly) {
  ManualRuntime runtime;
  Channel<std::unique_ptr<int>> channel(1);
  Scope scope(runtime);
  int value = 0;
  scope.spawn(receive_owned(channel, value));
  EXPECT_TRUE(channel.try_send(std::make_unique<int>(4)));
  runtime.settle();
  EXPECT_EQ(value, 4);
}

Task<void> wait_and_log(Signal& signal, std::string name, std::string& log) {
  for (;;) {
    const Result<> notified = co_await signal.wait();
    if (!notified) co_return;
    log += name;
  }
}

// A signal wakes all who wait, in order, once.
TEST(Signal, WakesAllOnce) {
  ManualRuntime runtime;
  Signal signal;
  Scope scope(runtime);
  std::string log;
  signal.notify();  // nobody waits: nothing is remembered
  scope.spawn(wait_and_log(signal, "a", log));
  scope.spawn(wait_and_log(signal, "b", log));
  runtime.settle();
  EXPECT_EQ(log, "");
  signal.notify();
  signal.notify();
  runtime.settle();
  EXPECT_EQ(log, "ab");
  signal.notify();
  scope.cancel();  // after the notification: it still counts, the next wait fails
  runtime.settle();
  EXPECT_EQ(log, "abab");
  EXPECT_EQ(scope.size(), 0U);
}

Task<void> wait_until(Runtime& runtime, Signal& signal, Instant deadline, std::string& log) {
  TimedWait wait(runtime, signal, deadline);
  const Result<> woken = co_await wait;
  log += woken ? "notified" : woken.error().to_string();
}

// Whatever is first ends the wait, and nothing of it is left behind.
TEST(TimedWait, WhoeverIsFirst) {
  const struct {
    std::function<void(ManualRuntime&, Signal&, Scope&)> happens;
    const char* expected;
  } cases[] = {
      {[](ManualRuntime&, Signal& signal, Scope&) { signal.notify(); }, "notified"},
      {[](ManualRuntime& runtime, Signal&, Scope&) { runtime.advance(1s); }, "timeout: timed out"},
      {[](ManualRuntime&, Signal&, Scope& scope) { scope.cancel(); }, "cancelled: cancelled"},
      // Notified in the turn in which the time runs out.
      {[](ManualRuntime& runtime, Signal& signal, Scope&) {
         signal.notify();
         runtime.advance_without_running(2s);
       },
       "notified"},
      {[](ManualRuntime& runtime, Signal& signal, Scope& scope) {
         runtime.advance_without_running(2s);
         signal.notify();
         scope.cancel();
       },
       "timeout: timed out"}};
  for (const auto& c : cases) {
    ManualRuntime runtime;
    Signal signal;
    Scope scope(runtime);
    std::string log;
    scope.spawn(wait_until(runtime, signal, runtime.now() + 1s, log));
    runtime.settle();
    EXPECT_EQ(log, "");
    c.happens(runtime, signal, scope);
    runtime.settle();
    EXPECT_EQ(log, c.expected);
    EXPECT_EQ(runtime.timers().size(), 0U);
    EXPECT_EQ(scope.size(), 0U);
  }
}

// Who was cancelled before does not begin to wait; a signal that goes away leaves the time limit.
TEST(TimedWait, NothingToWaitFor) {
  ManualRuntime runtime;
  Scope scope(runtime);
  std::string log;
  {
    Signal signal;
    scope.spawn(wait_until(runtime, signal, runtime.now() + 1s, log));
    runtime.settle();
  }
  runtime.advance(1s);
  EXPECT_EQ(log, "timeout: timed out");
  Signal signal;
  log.clear();
  scope.spawn(wait_until(runtime, signal, runtime.now() + 1s, log));
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(log, "cancelled: cancelled");
  EXPECT_EQ(runtime.timers().size(), 0U);
}

}  // namespace
}  // namespace fairlead::runtime
