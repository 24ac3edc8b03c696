#include "api/resource/name_rules.h"

#include <algorithm>

#include "api/resource/schema/validation.h"

namespace fairlead::resource {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

// [a-z0-9]([-a-z0-9]*[a-z0-9])? of any length.
bool has_label_form(std::string_view text) {
  return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool has_subdomain_form(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!has_label_form(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool has_name_form(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kSubdomainMax = 253;

std::string too_long_words(std::size_t max) {
  return "must be no more than " + std::to_string(max) + " bytes";
}

constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kDns1035Words =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kNameWords =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueWords =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kConfigKeyWords =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', "
    " "
    "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

}  // namespace

std::string dns_subdomain_problem(std::string_view text) {
  if (text.size() > kSubdomainMax) return too_long_words(kSubdomainMax);
  return has_subdomain_form(text) ? "" : std::string(kSubdomainWords);
}

std::string dns_label_problem(std::string_view text) {
  if (text.size() > kLabelMax) return too_long_words(kLabelMax);
  return has_label_form(text) ? "" : std::string(kLabelWords);
}

std::string dns_1035_label_problem(std::string_view text) {
  if (text.size() > kLabelMax) return too_long_words(kLabelMax);
  return has_label_form(text) && is_lower(text.front()) ? "" : std::string(kDns1035Words);
}

std::string qualified_name_problem(std::string_view text) {
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.contains('/')) {
      return std::string("a qualified name ").append(kNameWords) +
             " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    }
    if (prefix.empty()) return "prefix part must be non-empty";
    if (const std::string problem = dns_subdomain_problem(prefix); !problem.empty()) {
      return "prefix part " + problem;
    }
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > kLabelMax) return "name part " + too_long_words(kLabelMax);
  return has_name_form(name) ? "" : std::string("name part ").append(kNameWords);
}

std::string label_value_problem(std::string_view text) {
  if (text.size() > kLabelMax) return too_long_words(kLabelMax);
  return text.empty() || has_name_form(text) ? "" : std::string(kLabelValueWords);
}

std::string config_map_key_problem(std::string_view text) {
  if (text.size() > kSubdomainMax) return too_long_words(kSubdomainMax);
  const bool known = !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!known) return std::string(kConfigKeyWords);
  if (text == ".") return "must not be '.'";
  if (text == "..") return "must not be '..'";
  if (text.starts_with("..")) return "must not start with '..'";
  return "";
}

std::string port_name_problem(std::string_view text) {
  if (text.empty() || text.size() > 15) return "must be no more than 15 characters";
  if (!std::ranges::all_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; })) {
    return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  }
  if (std::ranges::none_of(text, is_lower)) return "must contain at least one letter (a-z)";
  if (text.contains("--")) return "must not contain consecutive hyphens";
  if (text.front() == '-' || text.back() == '-') return "must not begin or end with a hyphen";
  return "";
}

bool is_dns_subdomain(std::string_view text) {
  return text.size() <= kSubdomainMax && has_subdomain_form(text);
}
bool is_dns_label(std::string_view text) {
  return text.size() <= kLabelMax && has_label_form(text);
}
bool is_qualified_name(std::string_view text) { return qualified_name_problem(text).empty(); }
bool is_label_value(std::string_view text) {
  return text.size() <= kLabelMax && (text.empty() || has_name_form(text));
}

}  // namespace fairlead::resource
