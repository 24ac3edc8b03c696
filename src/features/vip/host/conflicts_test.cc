#include "features/vip/host/conflicts.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

constexpr Instant kStart{1000s};
const Mac kRival({2, 0, 0, 0, 0, 9});

Sighting claims(std::uint64_t count) { return {.claims = count, .claimant = kRival}; }

// What was claimed before it was held here is no conflict; what is claimed afterwards is.
TEST(Conflicts, CountsFromTheBeginning) {
  Conflicts conflicts(10s);
  conflicts.begin(claims(7));
  EXPECT_FALSE(conflicts.defends(kStart, claims(7), false));
  EXPECT_EQ(conflicts.rival(), std::nullopt);
  EXPECT_TRUE(conflicts.defends(kStart, claims(9), false));
  EXPECT_EQ(conflicts.count(), 2U);
  EXPECT_EQ(conflicts.rival(), kRival);
}

// A quarrel has a pace, and its last claim is answered too.
TEST(Conflicts, DefendsAtIntervals) {
  Conflicts conflicts(10s);
  conflicts.begin(claims(0));
  EXPECT_TRUE(conflicts.defends(kStart, claims(1), false));
  EXPECT_FALSE(conflicts.defends(kStart + 1s, claims(2), false));
  EXPECT_FALSE(conflicts.defends(kStart + 9s, claims(3), false));
  EXPECT_TRUE(conflicts.defends(kStart + 10s, claims(3), false));
  EXPECT_FALSE(conflicts.defends(kStart + 60s, claims(3), false));
  EXPECT_EQ(conflicts.count(), 3U);
}

// This host's own announcements, sent back by a switch, are no conflict.
TEST(Conflicts, OwnFramesAreNone) {
  Conflicts conflicts(10s);
  conflicts.begin(claims(0));
  EXPECT_FALSE(conflicts.defends(kStart, claims(1), true));
  EXPECT_EQ(conflicts.count(), 0U);
  EXPECT_FALSE(conflicts.defends(kStart + 1s, claims(1), false));
}

}  // namespace
}  // namespace fairlead::vip
