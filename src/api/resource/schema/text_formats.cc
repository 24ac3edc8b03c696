#include "api/resource/schema/text_formats.h"

#include <algorithm>

#include "api/resource/timestamp.h"
#include "foundation/base/ip.h"

namespace fairlead::resource {
namespace {

std::string ip_problem(std::string_view text, bool v4_allowed, bool v6_allowed) {
  if (text.empty()) return "";
  const auto ip = Ip::parse(text);
  if (!ip || (ip->is_v4() ? !v4_allowed : !v6_allowed)) {
    return !v6_allowed   ? "must be a valid IPv4 address"
           : !v4_allowed ? "must be a valid IPv6 address"
                         : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  }
  // Selectors compare text, so an address has one spelling only.
  const std::string canonical = ip->to_string();
  return canonical == text ? "" : "must be in canonical form (\"" + canonical + "\")";
}

std::string mac_problem(std::string_view text) {
  if (text.empty()) return "";
  const auto mac = Mac::parse(text);
  return mac && mac->to_string() == text ? "" : "must be a MAC address, (e.g. 02:00:0a:00:00:05)";
}

}  // namespace

std::string format_problem(std::string_view format, std::string_view text) {
  if (format.empty()) return "";
  if (format == "date-time" || format == "micro-time") {
    return parse_rfc3339(text) ? "" : "must be an RFC 3339 time, (e.g. 2006-01-02T15:04:05Z)";
  }
  if (format == "byte") return is_base64(text) ? "" : "must be base64";
  if (format == "ipv4") return ip_problem(text, true, false);
  if (format == "ipv6") return ip_problem(text, false, true);
  if (format == "ip") return ip_problem(text, true, true);
  if (format == "mac") return mac_problem(text);
  return "";
}

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return std::ranges::all_of(text.substr(0, text.size() - padding), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

std::size_t base64_size(std::string_view text) {
  return text.size() / 4 * 3 - static_cast<std::size_t>(std::ranges::count(text, '='));
}

}  // namespace fairlead::resource
