#include "http/target.h"

#include <algorithm>

namespace fairlead::http {
namespace {

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
    if (text[i] == '+' && plus_is_space) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return fail(Code::invalid, "malformed percent escape");
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
    if (out.back() == '\0') return fail(Code::invalid, "NUL in target");
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
  return out;
}

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view parameter = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (parameter.empty()) continue;
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    FL_TRY(std::string name, percent_decode(parameter.substr(0, equals), true));
    FL_TRY(std::string value,
           percent_decode(parameter.substr(std::min(equals + 1, parameter.size())), true));
    query.add(std::move(name), std::move(value));
  }
  return query;
}

std::string_view Query::get(std::string_view name) const {
  for (const auto& [key, value] : parameters_)
    if (key == name) return value;
  return {};
}

bool Query::has(std::string_view name) const {
  return std::any_of(parameters_.begin(), parameters_.end(),
                     [name](const auto& parameter) { return parameter.first == name; });
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : parameters_)
    if (key == name) values.emplace_back(value);
  return values;
}

std::string Query::encode() const {
  std::string out;
  for (const auto& [key, value] : parameters_) {
    if (!out.empty()) out.push_back('&');
    out.append(percent_encode(key)).append("=").append(percent_encode(value));
  }
  return out;
}

Result<Target> parse_target(std::string_view target) {
  const std::size_t question = target.find('?');
  Target parsed{.path = std::string(target.substr(0, question)), .query = {}};
  if (question != std::string_view::npos) {
    FL_TRY(parsed.query, Query::parse(target.substr(question + 1)));
  }
  return parsed;
}

Result<std::vector<std::string>> path_segments(std::string_view path) {
  if (!path.starts_with('/')) return fail(Code::invalid, "path does not begin with '/'");
  std::vector<std::string> segments;
  do {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    FL_TRY(std::string segment, percent_decode(path.substr(0, slash)));
    if (segment == "." || segment == "..") return fail(Code::invalid, "relative path segment");
    segments.push_back(std::move(segment));
    path.remove_prefix(slash);
  } while (!path.empty());
  return segments;
}

}  // namespace fairlead::http
