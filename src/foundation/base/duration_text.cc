#include "foundation/base/duration_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

namespace fairlead {
namespace {

using namespace std::chrono_literals;
using Duration = std::chrono::nanoseconds;

Result<Duration> unit_of(std::string_view unit) {
  if (unit == "ms") return 1ms;
  if (unit == "s" || unit.empty()) return 1s;
  if (unit == "m") return 1min;
  if (unit == "h") return 1h;
  return fail(Code::invalid, "unknown unit \"" + std::string(unit) + "\"");
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  Duration sum{0};
  std::string_view rest = text;
  const auto refuse = [&] {
    return fail(Code::invalid, "\"" + std::string(text) + "\" is no duration (10s, 1m30s, 250ms)");
  };
  do {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{}) return refuse();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::size_t unit_end = std::min(rest.find_first_of("0123456789"), rest.size());
    const Result<Duration> unit = unit_of(rest.substr(0, unit_end));
    if (!unit || number > 1'000'000) return refuse();
    rest.remove_prefix(unit_end);
    sum += *unit * number;
  } while (!rest.empty());
  return sum;
}

}  // namespace fairlead
