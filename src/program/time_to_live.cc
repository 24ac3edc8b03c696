#include "program/time_to_live.h"

#include <charconv>

namespace fairlead::program {

Result<std::optional<Duration>> parse_ttl(const std::string& text) {
  const Error wrong{Code::invalid,
                    "--ttl " + text + ": must look like 90s, 30m, 24h or 7d, or be 0 for no end"};
  if (text == "0") return std::nullopt;
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr + 1 != end || count == 0) return fail(wrong);
  const Duration unit = *parsed.ptr == 's'   ? Duration(1s)
                        : *parsed.ptr == 'm' ? Duration(1min)
                        : *parsed.ptr == 'h' ? Duration(1h)
                        : *parsed.ptr == 'd' ? Duration(24h)
                                             : Duration(0);
  constexpr Duration kLongest = 24h * 3650;
  if (unit == Duration(0) || count > kLongest / unit) return fail(wrong);
  return unit * count;
}

}  // namespace fairlead::program
