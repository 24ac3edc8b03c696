#include "api/client/leader_election.h"

#include <gtest/gtest.h>

namespace fairlead::client {
namespace {

constexpr ElectionTimes kTimes{.lease = 15s, .renew_deadline = 10s, .retry = 2s};

Instant at(Duration since_start) { return Instant(since_start); }

LeaseRecord held_by(std::string holder, std::string renewed) {
  return {.holder = std::move(holder),
          .duration_seconds = 15,
          .acquire_time = "t0",
          .renew_time = std::move(renewed),
          .transitions = 3};
}

// A Lease that does not exist, or that nobody holds, is taken.
TEST(ElectionMachine, TakesAFreeLease) {
  ElectionMachine machine("me", kTimes);
  machine.observe(std::nullopt, at(0s));
  const auto record = machine.plan(at(0s), {});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->holder, "me");
  EXPECT_EQ(record->duration_seconds, 15);
  EXPECT_FALSE(machine.leads(at(0s)));
  machine.written(*record, at(0s));
  EXPECT_TRUE(machine.leads(at(9s)));
  EXPECT_FALSE(machine.leads(at(10s)));
}

// Another holder is left alone for its whole duration, counted from when we saw its last renewal.
TEST(ElectionMachine, WaitsForASilentHolder) {
  ElectionMachine machine("me", kTimes);
  machine.observe(held_by("other", "t1"), at(0s));
  machine.observe(held_by("other", "t1"), at(10s));
  EXPECT_FALSE(machine.plan(at(14s), {}));
  machine.observe(held_by("other", "t2"), at(14s));  // it renewed
  EXPECT_FALSE(machine.plan(at(28s), {}));
  const auto record = machine.plan(at(29s), {});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->transitions, 4);
}

// The deadline counts from before the write was sent: a late answer does not lengthen it.
TEST(ElectionMachine, TheDeadlineCountsFromBeforeTheWrite) {
  ElectionMachine machine("me", kTimes);
  machine.observe(std::nullopt, at(0s));
  machine.written(*machine.plan(at(0s), {}), at(0s));
  // Renewal begun at 4 s; the answer comes at 9 s.
  machine.written(*machine.plan(at(4s), {}), at(4s));
  EXPECT_TRUE(machine.leads(at(13s)));
  EXPECT_FALSE(machine.leads(at(14s)));
  // Others wait for 15 s from when they saw the renewal, which cannot be before 4 s.
  ElectionMachine other("other", kTimes);
  other.observe(held_by("me", "t4"), at(4s));
  EXPECT_FALSE(other.plan(at(18s), {}));
  EXPECT_TRUE(other.plan(at(19s), {}));
}

// Someone else's name in the Lease ends our term at once.
TEST(ElectionMachine, LosingIsImmediate) {
  ElectionMachine machine("me", kTimes);
  machine.observe(std::nullopt, at(0s));
  machine.written(*machine.plan(at(0s), {}), at(0s));
  machine.observe(held_by("other", "t1"), at(1s));
  EXPECT_FALSE(machine.leads(at(1s)));
  EXPECT_EQ(machine.holder(), "other");
}

// Times that could let two lead at once are refused.
TEST(ElectionTimes, AreChecked) {
  EXPECT_TRUE(check_election_times(kTimes));
  EXPECT_FALSE(check_election_times({.lease = 10s, .renew_deadline = 10s, .retry = 2s}));
  EXPECT_FALSE(check_election_times({.lease = 15s, .renew_deadline = 2s, .retry = 2s}));
  EXPECT_FALSE(check_election_times({.lease = 1500ms, .renew_deadline = 1s, .retry = 100ms}));
}

}  // namespace
}  // namespace fairlead::client
