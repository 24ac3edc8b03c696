#include "foundation/wire/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace fairlead::wire {
namespace {

using std::string_view_literals::operator""sv;

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Go's strconv.ParseInt(text, 0, 64): an optional sign, then 0x, 0o, 0b, 0 (octal) or decimal.
std::optional<Json> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(base != 8 || mark == 'o' ? 2 : 1);
  }
  if (text.empty() || text[0] == '-') return std::nullopt;
  std::uint64_t magnitude = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  if (negative) {
    if (magnitude > kTop) return std::nullopt;
    return Json(static_cast<std::int64_t>(~magnitude + 1));
  }
  if (magnitude < kTop) return Json(static_cast<std::int64_t>(magnitude));
  return Json(magnitude);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool has_float_form(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  const auto skip_sign = [&] {
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  };
  skip_sign();
  std::size_t mantissa = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    mantissa += digits();
  }
  if (mantissa == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    skip_sign();
    if (digits() == 0) return false;
  }
  return at == text.size();
}

}  // namespace

std::optional<Json> resolve_plain_scalar(std::string_view text) {
  static constexpr std::array kNull = {""sv, "~"sv, "null"sv, "Null"sv, "NULL"sv};
  static constexpr std::array kTrue = {"y"sv,    "Y"sv,    "yes"sv, "Yes"sv, "YES"sv, "true"sv,
                                       "True"sv, "TRUE"sv, "on"sv,  "On"sv,  "ON"sv};
  static constexpr std::array kFalse = {"n"sv,     "N"sv,     "no"sv,  "No"sv,  "NO"sv, "false"sv,
                                        "False"sv, "FALSE"sv, "off"sv, "Off"sv, "OFF"sv};
  static constexpr std::array kNotInJson = {".nan"sv,  ".NaN"sv,  ".NAN"sv,  ".inf"sv,
                                            ".Inf"sv,  ".INF"sv,  "+.inf"sv, "+.Inf"sv,
                                            "+.INF"sv, "-.inf"sv, "-.Inf"sv, "-.INF"sv};
  if (text.size() <= 5) {
    if (is_one_of(text, kNull)) return Json(nullptr);
    if (is_one_of(text, kTrue)) return Json(true);
    if (is_one_of(text, kFalse)) return Json(false);
    if (is_one_of(text, kNotInJson)) return std::nullopt;
  }
  if (!is_digit(text[0]) && text[0] != '-' && text[0] != '+' && text[0] != '.') return Json(text);
  std::string number(text);
  std::erase(number, '_');
  if (auto integer = parse_integer(number)) return integer;
  if (!has_float_form(number)) return Json(text);
  const std::string_view unsigned_form = std::string_view(number).substr(number[0] == '+' ? 1 : 0);
  double value = 0;
  const auto status =
      std::from_chars(unsigned_form.data(), unsigned_form.data() + unsigned_form.size(), value).ec;
  if (status == std::errc::result_out_of_range) value = std::strtod(number.c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  return Json(value);
}

}  // namespace fairlead::wire
