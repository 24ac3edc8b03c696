#include "foundation/base/duration_text.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using namespace std::chrono_literals;

// Numbers with units, several in a row, or plain seconds.
TEST(ParseDuration, ReadsUnits) {
  EXPECT_EQ(*parse_duration("250ms"), 250ms);
  EXPECT_EQ(*parse_duration("90s"), 90s);
  EXPECT_EQ(*parse_duration("30m"), 30min);
  EXPECT_EQ(*parse_duration("24h"), 24h);
  EXPECT_EQ(*parse_duration("7d"), 7 * 24h);
  EXPECT_EQ(*parse_duration("3650d"), 3650 * 24h);
  EXPECT_EQ(*parse_duration("1m30s"), 90s);
  EXPECT_EQ(*parse_duration("7"), 7s);
  EXPECT_EQ(*parse_duration("0"), 0s);
}

// Anything else is refused with its text; nothing overflows.
TEST(ParseDuration, RefusesTheRest) {
  for (const char* text :
       {"", "s", "-1h", "+1h", "1.5h", "1H", "1hh", "1 h", "1w", "10x", "10s s", "soon", "106752d",
        "4294967295d", "99999999999999999999s", "106751d106751d"}) {
    const Result<std::chrono::nanoseconds> parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid);
    EXPECT_NE(parsed.error().message.find(std::string("\"") + text + "\""), std::string::npos)
        << parsed.error().message;
  }
}

}  // namespace
}  // namespace fairlead
