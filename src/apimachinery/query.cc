#include "apimachinery/query.h"

#include <fmt/format.h>

#include "wire/utf8.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::size_t kMaxParameters = 100;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return fail(Code::invalid, fmt::format("invalid URL escape \"{}\"", text.substr(i, 3)));
      }
      out += static_cast<char>(high * 16 + low);
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

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
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
