#include "foundation/runtime/back_off.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::runtime {
namespace {

using Durations = std::vector<Duration>;

Durations pauses(BackOff& back_off, Runtime& runtime, int count) {
  Durations drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(back_off.next(runtime));
  return drawn;
}

// Something that does not work is tried less and less often, up to the limit.
TEST(BackOff, DoublesUpToALimit) {
  ManualRuntime runtime;
  BackOff back_off({.first = 100ms, .longest = 1s});
  EXPECT_EQ(pauses(back_off, runtime, 6), (Durations{100ms, 200ms, 400ms, 800ms, 1s, 1s}));
  back_off.reset();
  EXPECT_EQ(back_off.next(runtime), Duration(100ms));
}

// No number of failures makes the pause overflow.
TEST(BackOff, NeverOverflows) {
  ManualRuntime runtime;
  BackOff back_off({.first = 1ns, .longest = Duration::max()});
  for (int i = 0; i < 200; ++i) EXPECT_GT(back_off.next(runtime), Duration::zero());
  EXPECT_EQ(back_off.next(runtime), Duration::max());
}

// With jitter a pause lies in the upper half of its step, and not everybody draws the same.
TEST(BackOff, JitterStaysInItsHalf) {
  ManualRuntime runtime;
  std::set<Duration> firsts;
  for (int client = 0; client < 50; ++client) {
    BackOff back_off({.first = 1600ms, .longest = 6s, .jitter = true});
    for (const Duration step : Durations{1600ms, 3200ms, 6s, 6s}) {
      const Duration pause = back_off.next(runtime);
      EXPECT_GE(pause, step / 2);
      EXPECT_LT(pause, step);
      if (step == 1600ms) firsts.insert(pause);
    }
  }
  EXPECT_GT(firsts.size(), 40u);
}

// The same random numbers give the same pauses.
TEST(BackOff, IsDeterministic) {
  const BackOff::Limits limits{.first = 1s, .longest = 60s, .jitter = true};
  ManualRuntime one, other;
  BackOff of_one(limits), of_other(limits);
  EXPECT_EQ(pauses(of_one, one, 10), pauses(of_other, other, 10));
}

// Outages that come one after another, with a server that works in between, do not add up.
TEST(BackOff, WhatHeldForAWhileIsForgiven) {
  ManualRuntime runtime;
  BackOff back_off({.first = 1s, .longest = 30s});
  for (int outage = 0; outage < 10; ++outage) {
    EXPECT_EQ(back_off.next(runtime), Duration(1s)) << outage;
    back_off.held(10s);
  }
}

// A server that takes everybody in and throws them out at once is not stormed.
TEST(BackOff, WhatHeldForAMomentIsNot) {
  ManualRuntime runtime;
  BackOff back_off({.first = 1s, .longest = 30s});
  Duration pause{};
  for (int i = 0; i < 10; ++i) {
    pause = back_off.next(runtime);
    back_off.held(100ms);
  }
  EXPECT_EQ(pause, Duration(30s));
}

Task<void> pause_into(BackOff& back_off, Runtime& runtime, std::optional<Result<>>& outcome) {
  outcome = co_await back_off.pause(runtime);
}

// pause() sleeps as long as next() says, and ends at once when it is cancelled.
TEST(BackOff, PausesUntilCancelled) {
  ManualRuntime runtime;
  BackOff back_off({.first = 1s, .longest = 30s});
  std::optional<Result<>> outcome;
  Scope scope(runtime);
  scope.spawn(pause_into(back_off, runtime, outcome));
  runtime.advance(999ms);
  EXPECT_FALSE(outcome);
  runtime.advance(1ms);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(*outcome);
  outcome.reset();
  scope.spawn(pause_into(back_off, runtime, outcome));
  runtime.settle();
  scope.cancel();
  runtime.settle();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error().code, Code::cancelled);
}

}  // namespace
}  // namespace fairlead::runtime
