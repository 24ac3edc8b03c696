#include "api/apimachinery/request/option_values.h"

#include <fmt/format.h>

#include <charconv>

#include "api/apimachinery/request/quoted.h"

namespace fairlead::apimachinery {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<std::optional<bool>> bool_option(const Query& query, std::string_view name) {
  const auto text = query.get(name);
  if (!text) return std::optional<bool>();
  if (text->empty()) return std::optional<bool>();
  return std::optional<bool>(*text != "0" && *text != "false");
}

Result<std::optional<std::int64_t>> integer_option(const Query& query, std::string_view name) {
  const std::string_view text = query.get_or_empty(name);
  if (text.empty()) return std::optional<std::int64_t>();
  const auto number = parse_number<std::int64_t>(text);
  if (!number) {
    return fail(Code::invalid, fmt::format("{}: strconv.ParseInt: parsing {}: invalid syntax", name,
                                           quoted(text)));
  }
  return number;
}

std::optional<std::uint64_t> decimal_revision(std::string_view text) {
  return text.empty() ? std::nullopt : parse_number<std::uint64_t>(text);
}

std::string invalid_revision_text(std::string_view text) {
  return fmt::format("resourceVersion: Invalid value: {}: must be a decimal number", quoted(text));
}

}  // namespace fairlead::apimachinery
