#include "tools/bench/process_times.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// CPU is user plus system time, memory is pages; a name full of brackets does not confuse it.
TEST(ProcessTimes, ParsesStat) {
  const auto figures = parse_process_stat(
      "42 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 3 0 1000 99999999 1234 "
      "18446744073709551615"
      " 1 1\n",
      100, 4096);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->cpu, 3s);
  EXPECT_EQ(figures->resident, 1234u * 4096u);
}

// Text that is cut off is an error, not a zero.
TEST(ProcessTimes, RefusesShortText) {
  EXPECT_FALSE(parse_process_stat("", 100, 4096));
  EXPECT_FALSE(parse_process_stat("42 (x) S 1 2", 100, 4096));
}

}  // namespace
}  // namespace fairlead::bench
