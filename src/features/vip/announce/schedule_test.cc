#include "features/vip/announce/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace fairlead::vip {
namespace {

using testing::ElementsAre;

constexpr Instant kStart{1000s};

// When a loop that wakes at each due time announces.
std::vector<Duration> first(AnnouncementSchedule schedule, std::size_t count) {
  std::vector<Duration> times;
  schedule.begin(kStart);
  while (times.size() < count) {
    const Instant due = *schedule.due();
    if (!schedule.take(due)) break;
    times.push_back(due - kStart);
  }
  return times;
}

// At once, again with growing gaps, then at intervals.
TEST(AnnouncementSchedule, BurstThenRefresh) {
  EXPECT_THAT(first(AnnouncementSchedule(), 8),
              ElementsAre(0s, 125ms, 250ms, 500ms, 1s, 2s, 32s, 62s));
  EXPECT_THAT(first(AnnouncementSchedule({.repeats = 0, .within = 2s, .refresh = 5s}), 3),
              ElementsAre(0s, 5s, 10s));
}

// Nothing before it is due, nothing after stop(), all from the beginning after begin().
TEST(AnnouncementSchedule, TakesWhatIsDue) {
  AnnouncementSchedule schedule;
  EXPECT_FALSE(schedule.take(kStart));
  schedule.begin(kStart);
  EXPECT_TRUE(schedule.take(kStart));
  EXPECT_FALSE(schedule.take(kStart + 124ms));
  EXPECT_TRUE(schedule.take(kStart + 125ms));
  schedule.stop();
  EXPECT_EQ(schedule.due(), std::nullopt);
  EXPECT_FALSE(schedule.take(kStart + 1h));
  schedule.begin(kStart + 1h);
  EXPECT_TRUE(schedule.take(kStart + 1h));
}

// A process that was stopped announces once when it goes on, not once for each turn it missed.
TEST(AnnouncementSchedule, DoesNotMakeUpForWhatWasMissed) {
  AnnouncementSchedule schedule;
  schedule.begin(kStart);
  EXPECT_TRUE(schedule.take(kStart));
  EXPECT_TRUE(schedule.take(kStart + 100s));
  EXPECT_FALSE(schedule.take(kStart + 100s));
  EXPECT_EQ(*schedule.due(), kStart + 122s);
}

}  // namespace
}  // namespace fairlead::vip
