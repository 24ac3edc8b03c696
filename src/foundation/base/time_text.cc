#include "foundation/base/time_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace fairlead {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

void append_digits(std::string& text, std::uint64_t value, int width) {
  std::array<char, 20> digits;
  for (int i = width; i-- > 0; value /= 10)
    digits[static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
  text.append(digits.data(), static_cast<std::size_t>(width));
}

std::string date_and_time(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string text;
  text.reserve(28);
  append_digits(text, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  text.push_back('-');
  append_digits(text, static_cast<unsigned>(date.month()), 2);
  text.push_back('-');
  append_digits(text, static_cast<unsigned>(date.day()), 2);
  text.push_back('T');
  append_digits(text, static_cast<std::uint64_t>(clock.hours().count()), 2);
  text.push_back(':');
  append_digits(text, static_cast<std::uint64_t>(clock.minutes().count()), 2);
  text.push_back(':');
  append_digits(text, static_cast<std::uint64_t>(clock.seconds().count()), 2);
  return text;
}

// Reads from the front of a text; `good` turns false at the first thing that does not fit.
struct Reader {
  std::string_view text;
  bool good = true;

  int digits(int width) {
    int value = 0;
    for (int i = 0; i < width; ++i) {
      if (text.empty() || text.front() < '0' || text.front() > '9') {
        good = false;
        return 0;
      }
      value = value * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
    return value;
  }
  void expect(char c) { good = good && take(c); }
  bool take(char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  }
  nanoseconds fraction() {
    if (!take('.')) return nanoseconds(0);
    std::int64_t value = 0;
    int count = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++count) {
      if (count < 9) value = value * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
    good = good && count >= 1 && count <= 9;
    for (; count < 9; ++count) value *= 10;
    return nanoseconds(value);
  }
  std::chrono::minutes offset() {
    if (take('Z') || take('z')) return std::chrono::minutes(0);
    const bool west = take('-');
    if (!west) expect('+');
    const int hours = digits(2);
    expect(':');
    const int minutes = digits(2);
    good = good && hours < 24 && minutes < 60;
    return std::chrono::minutes((west ? -1 : 1) * (hours * 60 + minutes));
  }
};

struct Span {
  std::int64_t below;  // for ages of less than this many seconds …
  std::int64_t major;  // … show this unit
  char major_name;
  std::int64_t minor;  // … and what is left in this one, unless it is none; 0: never
  char minor_name;
};

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kYear = 365 * kDay;

constexpr std::array kSpans{
    Span{2 * kMinute, 1, 's', 0, ' '},     Span{10 * kMinute, kMinute, 'm', 1, 's'},
    Span{3 * kHour, kMinute, 'm', 0, ' '}, Span{8 * kHour, kHour, 'h', kMinute, 'm'},
    Span{2 * kDay, kHour, 'h', 0, ' '},    Span{8 * kDay, kDay, 'd', kHour, 'h'},
    Span{2 * kYear, kDay, 'd', 0, ' '},    Span{8 * kYear, kYear, 'y', kDay, 'd'},
    Span{INT64_MAX, kYear, 'y', 0, ' '},
};

std::string in_span(std::int64_t age, const Span& span) {
  std::string text = std::to_string(age / span.major) + span.major_name;
  if (span.minor == 0) return text;
  const std::int64_t rest = age % span.major / span.minor;
  if (rest != 0) text.append(std::to_string(rest)).push_back(span.minor_name);
  return text;
}

}  // namespace

std::string rfc3339(CivilTime time) {
  return date_and_time(std::chrono::floor<seconds>(time)).append("Z");
}

std::string rfc3339_micro(CivilTime time) {
  const auto whole = std::chrono::floor<seconds>(time);
  std::string text = date_and_time(whole);
  text.push_back('.');
  append_digits(text, static_cast<std::uint64_t>((time - whole).count() / 1000), 6);
  text.push_back('Z');
  return text;
}

Result<CivilTime> parse_rfc3339(std::string_view text) {
  Reader reader{text};
  const int year = reader.digits(4);
  reader.expect('-');
  const int month = reader.digits(2);
  reader.expect('-');
  const int day = reader.digits(2);
  if (!reader.take('t')) reader.expect('T');
  const int hour = reader.digits(2);
  reader.expect(':');
  const int minute = reader.digits(2);
  reader.expect(':');
  const int second = reader.digits(2);
  const nanoseconds fraction = reader.fraction();
  const std::chrono::minutes offset = reader.offset();
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!reader.good || !reader.text.empty() || !date.ok() || year < 1678 || year > 2261 ||
      hour > 23 || minute > 59 || second > 59)
    return fail(Code::invalid, "bad time \"" + std::string(text) + "\"");
  return CivilTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + seconds(second) + fraction - offset;
}

std::string human_duration(nanoseconds duration) {
  const std::int64_t age = std::chrono::duration_cast<seconds>(duration).count();
  if (age < -1) return "<invalid>";
  if (age < 0) return "0s";
  for (const Span& span : kSpans) {
    if (age < span.below) return in_span(age, span);
  }
  return in_span(age, kSpans.back());
}

}  // namespace fairlead
