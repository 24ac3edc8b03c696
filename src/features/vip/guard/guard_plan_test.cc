#include "features/vip/guard/guard_plan.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

using Step = GuardPlan::Step;

Instant at(Duration time) { return Instant(1h + time); }

// A guard that has closed what was there before.
GuardPlan begun() {
  GuardPlan plan;
  EXPECT_EQ(plan.next(at(-1s)), Step::close);
  plan.closed(at(-1s), true, 20ms);
  EXPECT_EQ(plan.next(at(-900ms)), Step::farewell);
  return plan;
}

TEST(GuardPlan, WhatAnEngineOfBeforeLeftIsClosedFirst) {
  GuardPlan plan;
  EXPECT_EQ(plan.next(at(0ms)), Step::close);
  EXPECT_EQ(plan.next(at(0ms)), Step::nothing);
  plan.closed(at(0ms), true, 20ms);
  EXPECT_EQ(plan.next(at(19ms)), Step::nothing);
  EXPECT_EQ(plan.next(at(20ms)), Step::farewell);
  EXPECT_EQ(plan.next(at(20ms)), Step::start);
}

TEST(GuardPlan, AfterAnEngineTheFenceTheMarginTheFarewellThenTheNext) {
  GuardPlan plan = begun();
  EXPECT_EQ(plan.next(at(0ms)), Step::start);
  EXPECT_EQ(plan.next(at(1ms)), Step::nothing);
  EXPECT_FALSE(plan.due());
  plan.ended(at(60s));
  EXPECT_EQ(plan.next(at(60s)), Step::close);
  EXPECT_EQ(plan.next(at(60s)), Step::nothing) << "not before it is closed";
  plan.closed(at(60s), true, 20ms);
  EXPECT_EQ(plan.next(at(60s)), Step::nothing);
  EXPECT_EQ(plan.due(), at(60s + 20ms));
  EXPECT_EQ(plan.next(at(60s + 20ms)), Step::farewell);
  EXPECT_EQ(plan.next(at(60s + 20ms)), Step::start) << "it had run long";
}

TEST(GuardPlan, PeersAreNotToldWhatIsNotTrue) {
  GuardPlan plan = begun();
  EXPECT_EQ(plan.next(at(0ms)), Step::start);
  plan.ended(at(60s));
  EXPECT_EQ(plan.next(at(60s)), Step::close);
  plan.closed(at(60s), false, 20ms);
  for (Duration time = 60s; time < 61s; time += 1ms)
    EXPECT_NE(plan.next(at(time)), Step::farewell) << time.count();
}

TEST(GuardPlan, AnEngineThatFailsAtOnceIsStartedLessAndLessOften) {
  GuardPlan plan;
  Duration now{};
  std::vector<Duration> starts;
  while (now < 60s) {
    switch (plan.next(at(now))) {
      case Step::start:
        starts.push_back(now);
        plan.ended(at(now));
        break;
      case Step::close:
        plan.closed(at(now), true, 20ms);
        break;
      default:
        now += 1ms;
    }
  }
  EXPECT_GT(starts.size(), 10u);
  EXPECT_LT(starts.size(), 30u);
  EXPECT_LT(starts[1] - starts[0], 200ms);
}

TEST(GuardPlan, StopAsksThenKillsAndSaysFarewell) {
  GuardPlan plan = begun();
  EXPECT_EQ(plan.next(at(0ms)), Step::start);
  plan.stop(at(1s));
  EXPECT_EQ(plan.next(at(1s)), Step::ask);
  EXPECT_EQ(plan.next(at(2s)), Step::nothing);
  ASSERT_TRUE(plan.due());
  EXPECT_EQ(plan.next(*plan.due()), Step::kill);
  EXPECT_EQ(plan.next(at(20s)), Step::nothing);
  plan.ended(at(20s));
  EXPECT_EQ(plan.next(at(20s)), Step::close);
  plan.closed(at(20s), true, 20ms);
  EXPECT_EQ(plan.next(at(20s + 20ms)), Step::farewell);
  EXPECT_EQ(plan.next(at(20s + 20ms)), Step::end);
}

TEST(GuardPlan, StoppedBeforeTheFirstEngine) {
  GuardPlan plan;
  plan.stop(at(0ms));
  EXPECT_EQ(plan.next(at(0ms)), Step::end);
}

}  // namespace
}  // namespace fairlead::vip
