#include "identity/timestamp.h"

#include <charconv>
#include <chrono>
#include <cstdio>

namespace fairlead::identity {

std::string encode_timestamp(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

Result<WallTime> parse_timestamp(std::string_view text) {
  const Error refused{Code::invalid, "expected a time like 2026-01-31T12:00:00Z"};
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != kShape.size()) return fail(refused);
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return fail(refused);
  }
  const auto number = [text](std::size_t at, std::size_t length) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + length, value);
    return value;
  };
  const auto date = std::chrono::year(number(0, 4)) / static_cast<unsigned>(number(5, 2)) /
                    static_cast<unsigned>(number(8, 2));
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  // WallTime counts nanoseconds: it ends in 2262.
  if (!date.ok() || date.year() < std::chrono::year(1700) ||
      date.year() > std::chrono::year(2261) || hour > 23 || minute > 59 || second > 59)
    return fail(refused);
  return WallTime(std::chrono::sys_days(date) + std::chrono::hours(hour) +
                  std::chrono::minutes(minute) + std::chrono::seconds(second));
}

}  // namespace fairlead::identity
