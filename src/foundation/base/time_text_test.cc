#include "foundation/base/time_text.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using namespace std::chrono_literals;

CivilTime at(std::chrono::nanoseconds since_epoch) { return CivilTime(since_epoch); }

// Both forms, in the calendar's corners and before the epoch.
TEST(TimeText, Writes) {
  EXPECT_EQ(rfc3339(at(0s)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(at(951'782'399s)), "2000-02-28T23:59:59Z");
  EXPECT_EQ(rfc3339(at(951'782'400s)), "2000-02-29T00:00:00Z");
  EXPECT_EQ(rfc3339(at(1'794'780'600s + 999ms)), "2026-11-15T22:10:00Z");
  EXPECT_EQ(rfc3339(at(-1ns)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339_micro(at(1'794'780'600s + 123'999ns)), "2026-11-15T22:10:00.000123Z");
  EXPECT_EQ(rfc3339_micro(at(0s)), "1970-01-01T00:00:00.000000Z");
}

// Fractions of any length and offsets are understood.
TEST(TimeText, Reads) {
  EXPECT_EQ(parse_rfc3339("2026-11-15T22:10:00Z"), at(1'794'780'600s));
  EXPECT_EQ(parse_rfc3339("2026-11-15T22:10:00.000123Z"), at(1'794'780'600s + 123us));
  EXPECT_EQ(parse_rfc3339("2026-11-15T22:10:00.5Z"), at(1'794'780'600s + 500ms));
  EXPECT_EQ(parse_rfc3339("2026-11-15T23:40:00.123456789+01:30"),
            at(1'794'780'600s + 123'456'789ns));
  EXPECT_EQ(parse_rfc3339("2026-11-15T20:10:00-02:00"), at(1'794'780'600s));
}

// What is no such text, or no such day, is refused.
TEST(TimeText, Refuses) {
  for (const char* text :
       {"", "2026-11-15", "2026-11-15T22:10:00", "2026-11-15 22:10:00Z", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T22:60:00Z",
        "2026-11-15T22:10:60Z", "2026-11-15T22:10:00.Z", "2026-11-15T22:10:00.1234567890Z",
        "2026-11-15T22:10:00ZZ", "2026-11-15T22:10:00+0100", "2026-11-15T22:10:00+24:00",
        "26-11-15T22:10:00Z", "+026-11-15T22:10:00Z", "1600-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z"})
    EXPECT_FALSE(parse_rfc3339(text).has_value()) << text;
}

// Writing and reading are inverse to the precision written.
TEST(TimeText, RoundTrips) {
  for (std::int64_t day = -100'000; day < 100'000; day += 997) {
    const CivilTime time = at(std::chrono::hours(24 * day) + 12'345'678us);
    EXPECT_EQ(parse_rfc3339(rfc3339_micro(time)), time);
  }
}

// The steps in precision that kubectl makes.
TEST(TimeText, HumanDurations) {
  const std::pair<std::chrono::nanoseconds, const char*> cases[] = {
      {-2s, "<invalid>"},    {-1s, "0s"},
      {-500ms, "0s"},        {0s, "0s"},
      {999ms, "0s"},         {45s, "45s"},
      {119s, "119s"},        {2min, "2m"},
      {5min + 10s, "5m10s"}, {10min + 9s, "10m"},
      {179min, "179m"},      {3h, "3h"},
      {7h + 59min, "7h59m"}, {8h + 30min, "8h"},
      {47h, "47h"},          {48h, "2d"},
      {122h, "5d2h"},        {191h, "7d23h"},
      {192h, "8d"},          {729 * 24h, "729d"},
      {730 * 24h, "2y"},     {740 * 24h, "2y10d"},
      {8 * 365 * 24h, "8y"}, {10 * 365 * 24h + 48h, "10y"},
  };
  for (const auto& [duration, text] : cases) EXPECT_EQ(human_duration(duration), text);
}

}  // namespace
}  // namespace fairlead
