#include "features/vip/election/tuning.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

Measured measured(std::uint64_t sent, std::uint64_t answered, Duration trip, Duration pause) {
  return {.sounding = {.peers = {{.peer = "b",
                                  .sent = sent,
                                  .answered = answered,
                                  .total = trip * static_cast<std::int64_t>(answered),
                                  .longest = trip}},
                       .longest_pause = pause},
          .longest_write = 3ms,
          .in_force = {}};
}
Timing proposed(const Measured& all) {
  const Result<Proposal> proposal = propose_timing(all);
  EXPECT_TRUE(proposal) << (proposal ? "" : proposal.error().message);
  return proposal ? proposal->timing : Timing{};
}

// Whatever is measured: the times are accepted by the election, and outlast what was seen.
TEST(Tuning, ProposesTimesThatAreGood) {
  for (const Duration trip : std::vector<Duration>{100us, 1ms, 7ms, 40ms, 300ms})
    for (const Duration pause : std::vector<Duration>{10us, 2ms, 60ms, 500ms})
      for (const std::uint64_t answered : {1'000u, 990u, 800u, 400u}) {
        const Timing timing = proposed(measured(1'000, answered, trip, pause));
        EXPECT_FALSE(timing_problem(timing)) << timing_problem(timing)->reason;
        EXPECT_GE(timing.lease - 3 * timing.renew, std::max(trip, pause));
        EXPECT_LE(timing.lease, 60s);
      }
}

TEST(Tuning, AQuietNetworkAllowsAShortLease) {
  const Timing timing = proposed(measured(1'000, 1'000, 300us, 500us));
  EXPECT_LE(timing.lease, 100ms);
  EXPECT_EQ(timing.margin, 20ms);
}

// Each of them lengthens the lease.
TEST(Tuning, LossLongTripsAndPausesNeedALongerOne) {
  const Timing quiet = proposed(measured(1'000, 1'000, 1ms, 1ms));
  EXPECT_GT(proposed(measured(1'000, 900, 1ms, 1ms)).lease, quiet.lease);
  EXPECT_GT(proposed(measured(1'000, 1'000, 50ms, 1ms)).lease, quiet.lease);
  EXPECT_GT(proposed(measured(1'000, 1'000, 1ms, 50ms)).lease, quiet.lease);
}

TEST(Tuning, SaysWhetherTheLeaseInForceWillDo) {
  EXPECT_TRUE(propose_timing(measured(1'000, 1'000, 1ms, 1ms))->in_force_is_long_enough);
  const Result<Proposal> too_short = propose_timing(measured(1'000, 1'000, 1ms, 200ms));
  EXPECT_FALSE(too_short->in_force_is_long_enough);
  EXPECT_NE(too_short->reasons.back().find("TOO SHORT"), std::string::npos);
}

TEST(Tuning, TooLittleIsNoMeasurement) {
  const Result<Proposal> silent = propose_timing(measured(1'000, 5, 1ms, 1ms));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().message, "b has answered 5 of 1000 heartbeats: too few to say anything");
  EXPECT_FALSE(propose_timing({}));
}

TEST(Soundings, CountsWhatWasAnsweredAndWhatHadTheTime) {
  Soundings soundings;
  const Instant start(1h);
  soundings.sent(start, 1, "b");  // not on yet
  soundings.begin(start);
  for (std::uint64_t i = 1; i <= 10; ++i) soundings.sent(start + i * 10ms, i, "b");
  for (std::uint64_t i = 1; i <= 7; ++i) soundings.answered(start + i * 10ms + i * 1ms, i, "b");
  soundings.answered(start + 80ms, 7, "b");  // once more
  soundings.answered(start + 80ms, 8, "x");  // nobody asked it
  soundings.woke(start + 10ms, start + 13ms);
  soundings.woke(start + 20ms, start + 21ms);
  const Sounding all = soundings.end(start + 105ms, 10ms);
  ASSERT_EQ(all.peers.size(), 1u);
  EXPECT_EQ(all.peers[0].answered, 7u);
  EXPECT_EQ(all.peers[0].sent, 9u) << "the last one was sent just now";
  EXPECT_EQ(all.peers[0].longest, 7ms);
  EXPECT_EQ(all.peers[0].total, 28ms);
  EXPECT_EQ(all.longest_pause, 3ms);
}

}  // namespace
}  // namespace fairlead::vip
