#include "api/control/work_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::control {
namespace {

using runtime::ManualRuntime;
using runtime::Scope;
using Keys = std::vector<std::string>;

// Takes every key that comes and keeps it in work until the test says done.
Task<void> take_all(WorkQueue<std::string>& queue, Keys& taken) {
  for (;;) {
    const Result<std::string> key = co_await queue.take();
    if (!key) co_return;
    taken.push_back(*key);
  }
}

struct WorkQueueTest : testing::Test {
  ManualRuntime runtime;
  WorkQueue<std::string> queue{runtime};
  Keys taken;
  Scope scope{runtime};
  void take() {
    scope.spawn(take_all(queue, taken));
    runtime.settle();
  }
};

// A key added several times before it is taken is taken once, in order of first adding.
TEST_F(WorkQueueTest, KeysAreTakenOnce) {
  for (const char* key : {"b", "a", "b", "c", "a"}) queue.add(key);
  take();
  EXPECT_EQ(taken, (Keys{"b", "a", "c"}));
}

// A key added while it is worked on comes again after done(), never at the same time.
TEST_F(WorkQueueTest, AKeyIsNeverWorkedOnTwiceAtOnce) {
  queue.add("a");
  take();
  queue.add("a");
  runtime.settle();
  EXPECT_EQ(taken, (Keys{"a"}));
  queue.done("a");
  runtime.settle();
  EXPECT_EQ(taken, (Keys{"a", "a"}));
  queue.done("a");
  runtime.settle();
  EXPECT_EQ(taken.size(), 2u);
}

// Failures come back later and later, up to the limit; forget() starts over.
TEST_F(WorkQueueTest, RetriesBackOff) {
  take();
  queue.retry("a");
  runtime.advance(5ms);
  EXPECT_EQ(taken.size(), 1u);
  queue.done("a");
  queue.retry("a");
  runtime.advance(5ms);
  EXPECT_EQ(taken.size(), 1u);
  runtime.advance(5ms);
  EXPECT_EQ(taken.size(), 2u);
  queue.done("a");
  for (int i = 0; i < 60; ++i) {
    queue.retry("a");
    runtime.advance(16s);
    queue.done("a");
  }
  EXPECT_EQ(taken.size(), 62u);
  queue.forget("a");
  queue.retry("a");
  runtime.advance(5ms);
  EXPECT_EQ(taken.size(), 63u);
}

// Of two delays the shorter one counts.
TEST_F(WorkQueueTest, TheEarlierAlarmStands) {
  take();
  queue.add_after("a", 10s);
  queue.add_after("a", 1s);
  queue.add_after("a", 5s);
  runtime.advance(1s);
  EXPECT_EQ(taken, (Keys{"a"}));
  queue.done("a");
  runtime.advance(20s);
  EXPECT_EQ(taken, (Keys{"a"}));
}

// After shut_down what is queued is still handed out, and takers end.
TEST_F(WorkQueueTest, ShutDownDrains) {
  queue.add("a");
  queue.shut_down();
  queue.add("b");
  take();
  EXPECT_EQ(taken, (Keys{"a"}));
  EXPECT_EQ(scope.size(), 0u);
}

// What client-go's dashboards show: depth, adds, retries, and how long keys waited and were worked
// on.
TEST(WorkQueueMetrics, FollowTheQueue) {
  ManualRuntime runtime;
  metrics::Registry registry;
  WorkQueueFamilies families(registry);
  WorkQueue<std::string> queue(runtime, families.of("things"));
  Keys taken;
  Scope scope(runtime);
  for (const char* key : {"a", "b", "a"}) queue.add(key);
  const auto says = [&](const std::string& line) {
    const std::string text = registry.expose();
    EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\nin\n" << text;
  };
  says("workqueue_depth{name=\"things\"} 2");
  says("workqueue_adds_total{name=\"things\"} 2");
  runtime.advance(2s);
  scope.spawn(take_all(queue, taken));
  runtime.settle();
  says("workqueue_depth{name=\"things\"} 0");
  says("workqueue_queue_duration_seconds_count{name=\"things\"} 2");
  says("workqueue_queue_duration_seconds_sum{name=\"things\"} 4");
  runtime.advance(3s);
  says("workqueue_unfinished_work_seconds{name=\"things\"} 6");
  says("workqueue_longest_running_processor_seconds{name=\"things\"} 3");
  queue.retry("a");
  queue.done("a");
  says("workqueue_unfinished_work_seconds{name=\"things\"} 3");
  says("workqueue_retries_total{name=\"things\"} 1");
  says("workqueue_work_duration_seconds_sum{name=\"things\"} 3");
  // A key that is added while in work counts as waiting once it may be taken.
  queue.add("b");
  says("workqueue_depth{name=\"things\"} 0");
}

}  // namespace
}  // namespace fairlead::control
