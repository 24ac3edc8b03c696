#include "tools/bench/watch_load.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// Figures of a run count only if every event was written and seen once by whom it concerns.
TEST(WatchCounts, Problems) {
  const WatchCounts good{.asked_for = 10, .written = 10, .delivered = 10};
  EXPECT_TRUE(good.problems().empty());
  const auto problems = [&](auto change) {
    WatchCounts counts = good;
    change(counts);
    return counts.problems();
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(problems([](WatchCounts& c) { c.delivered = 9; }), Lines{"1 events never arrived"});
  EXPECT_EQ(problems([](WatchCounts& c) { c.twice = 2; }), Lines{"2 events arrived twice"});
  EXPECT_EQ(problems([](WatchCounts& c) { c.unexpected = 3; }),
            Lines{"3 events at watchers they do not match"});
  EXPECT_EQ(problems([](WatchCounts& c) { c.written = c.delivered = 4; }),
            Lines{"only 4 of 10 events were written"});
  EXPECT_EQ(problems([](WatchCounts& c) {
              c.written = c.delivered = 8;
              c.write_errors = 2;
              c.first_failure = "429";
            }),
            Lines{"2 writes and 0 watches failed, the first: 429"});
  EXPECT_EQ(problems([](WatchCounts& c) { c.watch_errors = 1; }).size(), 1U);
  EXPECT_TRUE(problems([](WatchCounts& c) {
                c.delivered = 0;
                c.somebody_matches = false;
              }).empty());
}

}  // namespace
}  // namespace fairlead::bench
