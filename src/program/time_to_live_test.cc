#include "program/time_to_live.h"

#include <gtest/gtest.h>

namespace fairlead::program {
namespace {

// A number and a unit; 0 alone is for ever.
TEST(ParseTtl, ReadsUnits) {
  EXPECT_EQ(*parse_ttl("90s"), Duration(90s));
  EXPECT_EQ(*parse_ttl("30m"), Duration(30min));
  EXPECT_EQ(*parse_ttl("24h"), Duration(24h));
  EXPECT_EQ(*parse_ttl("7d"), Duration(7 * 24h));
  EXPECT_EQ(*parse_ttl("3650d"), Duration(3650 * 24h));
  const Result<std::optional<Duration>> none = parse_ttl("0");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

// Anything else is refused by the flag's name; nothing overflows.
TEST(ParseTtl, RefusesTheRest) {
  for (const char* text : {"", "s", "1", "0s", "-1h", "+1h", "1.5h", "1H", "1hh", "1 h", "1w",
                           "soon", "3651d", "4294967295d", "99999999999999999999s"}) {
    const Result<std::optional<Duration>> ttl = parse_ttl(text);
    ASSERT_FALSE(ttl) << text;
    EXPECT_TRUE(ttl.error().message.starts_with("--ttl")) << ttl.error().message;
  }
}

}  // namespace
}  // namespace fairlead::program
