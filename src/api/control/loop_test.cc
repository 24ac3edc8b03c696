#include "api/control/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "foundation/runtime/manual_runtime.h"

namespace fairlead::control {
namespace {

using runtime::ManualRuntime;
using runtime::Scope;
using Keys = std::vector<std::string>;

// A controller whose work on each batch ends when the test says so.
struct LoopTest : testing::Test {
  ManualRuntime runtime;
  WorkQueue<std::string> queue{runtime};
  std::vector<Keys> begun;
  std::map<std::string, int> in_work, most_in_work;
  std::map<std::string, Error> failing;
  runtime::Signal go_on;
  bool waits = false;
  Scope scope{runtime};

  Task<Result<>> outcome_of(std::string key) {
    most_in_work[key] = std::max(most_in_work[key], ++in_work[key]);
    Result<> outcome;
    if (waits) outcome = co_await go_on.wait();
    --in_work[key];
    if (outcome && failing.contains(key)) co_return fail(failing[key]);
    co_return outcome;
  }
  Task<Result<>> reconcile(std::string key) {
    begun.push_back({key});
    co_return co_await outcome_of(std::move(key));
  }
  Task<void> work(Batch<std::string>& batch) {
    begun.push_back(batch.keys());
    for (const std::string& key : batch.keys()) {
      const Result<> outcome = co_await outcome_of(key);
      batch.finish(key, outcome);
    }
  }
  void run(LoopOptions options) {
    scope.spawn(run_workers(runtime, queue, options,
                            [this](std::string key) { return reconcile(std::move(key)); }));
    runtime.settle();
  }
  void run_in_batches(LoopOptions options) {
    scope.spawn(run_batches(runtime, queue, options,
                            [this](Batch<std::string>& batch) { return work(batch); }));
    runtime.settle();
  }
  void add(const Keys& keys) {
    for (const std::string& key : keys) queue.add(key);
    runtime.settle();
  }
  void let_go_on() {
    go_on.notify();
    runtime.settle();
  }
};

// Several workers run at once, but a key is worked on by one of them at a time.
TEST_F(LoopTest, AKeyIsWorkedOnByOneAtATime) {
  waits = true;
  run({.name = "test", .workers = 3});
  add({"a", "b"});
  add({"a", "a", "b"});
  EXPECT_EQ(begun, (std::vector<Keys>{{"a"}, {"b"}}));
  let_go_on();
  EXPECT_EQ(begun.size(), 4u);
  let_go_on();
  EXPECT_EQ(begun.size(), 4u);
  EXPECT_EQ(most_in_work["a"], 1);
  EXPECT_EQ(queue.in_work(), 0u);
}

// A key that is added at any time of its being worked on is worked on again: no wake-up is lost.
TEST_F(LoopTest, NoWakeUpIsLost) {
  waits = true;
  run({.name = "test"});
  add({"a"});
  EXPECT_EQ(begun.size(), 1u);
  add({"a"});  // while it is in work
  let_go_on();
  EXPECT_EQ(begun.size(), 2u);
  go_on.notify();
  queue.add("a");  // while its work is about to end
  runtime.settle();
  EXPECT_EQ(begun.size(), 3u);
  let_go_on();
  EXPECT_EQ(begun.size(), 3u);
  EXPECT_EQ(queue.in_work(), 0u);
  EXPECT_EQ(queue.depth(), 0u);
}

// What fails comes back later and later; success starts over.
TEST_F(LoopTest, FailuresComeBackAfterABackOff) {
  failing["a"] = {Code::unavailable, "away"};
  run({.name = "test"});
  add({"a"});
  EXPECT_EQ(begun.size(), 1u);
  runtime.advance(5ms);
  EXPECT_EQ(begun.size(), 2u);
  runtime.advance(9ms);
  EXPECT_EQ(begun.size(), 2u);
  runtime.advance(1ms);
  EXPECT_EQ(begun.size(), 3u);
  failing.clear();
  runtime.advance(20ms);
  EXPECT_EQ(begun.size(), 4u);
  runtime.advance(1h);
  EXPECT_EQ(begun.size(), 4u);
  failing["a"] = {Code::conflict, "a rival was faster"};
  add({"a"});
  runtime.advance(5ms);
  EXPECT_EQ(begun.size(), 6u);
}

// A key that failed and changes meanwhile does not wait for its back-off.
TEST_F(LoopTest, NewsDoNotWaitForTheBackOff) {
  failing["a"] = {Code::unavailable, "away"};
  run({.name = "test"});
  add({"a"});
  add({"a"});
  EXPECT_EQ(begun.size(), 2u);
}

// A batch is what waits, up to its limit, in order; the rest goes to the next one.
TEST_F(LoopTest, KeysThatWaitAreTakenTogether) {
  for (const char* key : {"c", "a", "d", "b", "e"}) queue.add(key);
  run_in_batches({.name = "test", .workers = 1, .batch = 3});
  EXPECT_EQ(begun, (std::vector<Keys>{{"c", "a", "d"}, {"b", "e"}}));
}

// In a batch one key's failure is its own, and a finished key may be taken again before the others
// are finished.
TEST_F(LoopTest, EachKeyOfABatchEndsByItself) {
  waits = true;
  failing["b"] = {Code::unavailable, "away"};
  for (const char* key : {"a", "b", "c"}) queue.add(key);
  run_in_batches({.name = "test", .workers = 2, .batch = 3});
  let_go_on();  // a
  add({"a", "b"});
  EXPECT_EQ(begun, (std::vector<Keys>{{"a", "b", "c"}, {"a"}}));
  waits = false;
  let_go_on();
  EXPECT_EQ(begun, (std::vector<Keys>{{"a", "b", "c"}, {"a"}, {"b"}}));
  EXPECT_EQ(queue.counters().retries, 2u);
  runtime.advance(15ms);
  EXPECT_GE(begun.size(), 4u);
  EXPECT_EQ(begun.back(), (Keys{"b"}));
  EXPECT_EQ(most_in_work["b"], 1);
}

// Cancelling ends the workers in the middle of their work, which is no failure.
TEST_F(LoopTest, CancelledWorkIsNotRetried) {
  waits = true;
  run_in_batches({.name = "test", .workers = 2, .batch = 2});
  add({"a", "b", "c"});
  EXPECT_EQ(begun.size(), 2u);
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(scope.size(), 0u);
  EXPECT_EQ(queue.in_work(), 0u);
  EXPECT_EQ(queue.counters().retries, 0u);
}

// One outcome for all that are not finished yet.
TEST_F(LoopTest, ABatchMayEndAsAWhole) {
  const auto together = [this](Batch<std::string>& batch) -> Task<void> {
    begun.push_back(batch.keys());
    batch.finish(batch.keys().front(), {});
    batch.finish_all(begun.size() > 1 ? Result<>() : fail(Code::unavailable, "away"));
    co_return;
  };
  for (const char* key : {"a", "b", "c"}) queue.add(key);
  scope.spawn(run_batches(runtime, queue, {.name = "test", .workers = 1, .batch = 3}, together));
  runtime.advance(5ms);
  EXPECT_EQ(begun, (std::vector<Keys>{{"a", "b", "c"}, {"b", "c"}}));
  EXPECT_EQ(queue.in_work(), 0u);
}

// What the work left unfinished is not in work for ever.
TEST_F(LoopTest, WhatIsLeftUnfinishedIsDone) {
  const auto leave = [this](Batch<std::string>& batch) -> Task<void> {
    begun.push_back(batch.keys());
    co_return;
  };
  scope.spawn(run_batches(runtime, queue, {.name = "test", .workers = 1, .batch = 2}, leave));
  add({"a", "b"});
  add({"a"});
  EXPECT_EQ(begun, (std::vector<Keys>{{"a", "b"}, {"a"}}));
  EXPECT_EQ(queue.in_work(), 0u);
}

// every() acts after each interval, which begins when the last act has ended, until cancelled.
TEST_F(LoopTest, EveryIntervalUntilCancelled) {
  waits = true;
  int acts = 0;
  const auto act = [&]() -> Task<void> {
    ++acts;
    (void)co_await go_on.wait();
  };
  scope.spawn(every(runtime, 10s, act));
  runtime.advance(9s);
  EXPECT_EQ(acts, 0);
  runtime.advance(1s);
  EXPECT_EQ(acts, 1);
  runtime.advance(1min);
  EXPECT_EQ(acts, 1);
  let_go_on();
  runtime.advance(10s);
  EXPECT_EQ(acts, 2);
  scope.cancel();
  runtime.settle();
  EXPECT_EQ(scope.size(), 0u);
}

}  // namespace
}  // namespace fairlead::control
