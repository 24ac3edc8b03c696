#include "api/apimachinery/request/query.h"

#include <fmt/format.h>

#include "foundation/base/encoding.h"
#include "foundation/wire/utf8.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::size_t kMaxParameters = 100;

}  // namespace

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const std::optional<char> escaped = percent_escape(text, i);
      if (!escaped)
        return fail(Code::invalid, fmt::format("invalid URL escape \"{}\"", text.substr(i, 3)));
      out += *escaped;
      i += 2;
    } else if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else {
      out += text[i];
    }
  }
  if (!wire::is_utf8(out)) return fail(Code::invalid, "the URL is not UTF-8");
  return out;
}

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    if (query.values_.size() == kMaxParameters) {
      return fail(Code::invalid, "too many query parameters");
    }
    const std::size_t equals = part.find('=');
    FL_TRY(std::string name, percent_decode(part.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      FL_TRY(value, percent_decode(part.substr(equals + 1), true));
    }
    query.values_.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string_view Query::get_or_empty(std::string_view name) const {
  return get(name).value_or(std::string_view());
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : values_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

}  // namespace fairlead::apimachinery
