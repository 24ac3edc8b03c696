#include "features/vip/config/field_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "foundation/base/duration_text.h"
#include "foundation/base/host_address.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kLongestInterface = 15;
constexpr std::size_t kMostArguments = 64;
constexpr std::size_t kLongestPath = 4096;

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0)
    return fail(Code::invalid, fmt::format("\"{}\" is no port", text));
  return port;
}

}  // namespace

void refuse(FieldErrors& errors, const std::string& path, std::string_view value,
            std::string problem) {
  errors.push_back(resource::invalid(path, Json(value), std::move(problem)));
}

std::string item(const std::string& list, std::size_t index) {
  return fmt::format("{}[{}]", list, index);
}

std::string text_of(Duration duration) {
  const double milliseconds = std::chrono::duration<double, std::milli>(duration).count();
  return milliseconds >= 1000 ? fmt::format("{}s", milliseconds / 1000)
                              : fmt::format("{}ms", milliseconds);
}

Duration duration_field(const std::string& path, const std::string& text, Duration least,
                        Duration most, FieldErrors& errors) {
  const Result<Duration> duration = parse_duration(text);
  if (!duration) {
    refuse(errors, path, text, duration.error().message);
    return least;
  }
  if (*duration >= least && *duration <= most) return *duration;
  refuse(errors, path, text, fmt::format("must be {} to {}", text_of(least), text_of(most)));
  return least;
}

std::optional<runtime::Endpoint> member_address(const std::string& path, const std::string& text,
                                                bool anywhere, FieldErrors& errors) {
  const Result<runtime::Endpoint> endpoint = runtime::Endpoint::parse(text);
  if (!endpoint || endpoint->kind != runtime::Endpoint::Kind::tcp || endpoint->port == 0) {
    refuse(errors, path, text, "must be ADDRESS:PORT, such as 10.0.0.1:10000");
    return std::nullopt;
  }
  const Result<Ip> ip = Ip::parse(endpoint->host);
  if (!ip) {
    refuse(errors, path, text, "must have an address, not a name: names are not looked up");
    return std::nullopt;
  }
  const bool unspecified = *ip == Ip() || *ip == Ip::v6({});
  if (unspecified && anywhere) return *endpoint;
  // Members on one machine, for a trial.
  if (ip->is_loopback()) return runtime::Endpoint{.host = ip->to_string(), .port = endpoint->port};
  if (const std::string_view problem = host_address_problem(*ip); !problem.empty()) {
    refuse(errors, path, text, std::string(problem));
    return std::nullopt;
  }
  return runtime::Endpoint{.host = ip->to_string(), .port = endpoint->port};
}

std::optional<Ip> vip_address(const std::string& path, const std::string& text,
                              FieldErrors& errors) {
  const Result<Ip> ip = Ip::parse(text);
  if (!ip) {
    refuse(errors, path, text,
           text.contains('/') ? "must be an address without a prefix length"
                              : "must be an address, such as 10.0.0.75 or fd00::75");
    return std::nullopt;
  }
  if (const std::string_view problem = host_address_problem(*ip); !problem.empty()) {
    refuse(errors, path, text, std::string(problem));
    return std::nullopt;
  }
  return *ip;
}

void check_interface(const std::string& path, const std::string& name, Loopback loopback,
                     FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(resource::required(path));
  } else if (name == "lo" && loopback == Loopback::refused) {
    refuse(errors, path, name, "must not be the loopback interface: nobody else would see it");
  } else if (name.size() > kLongestInterface || name == "." || name == ".." || name.contains('/') ||
             name.contains('"') || !is_printable(name)) {
    refuse(errors, path, name, "is not the name of an interface");
  }
}

void check_command(const std::string& path, const std::vector<std::string>& command,
                   FieldErrors& errors) {
  if (command.empty()) return;
  if (command.size() > kMostArguments)
    errors.push_back(resource::too_many(path, command.size(), kMostArguments));
  if (!command[0].starts_with('/'))
    refuse(errors, item(path, 0), command[0], "must be the absolute path of a program");
  for (std::size_t i = 0; i < command.size(); ++i)
    if (command[i].size() > kLongestPath || command[i].contains('\0'))
      refuse(errors, item(path, i), command[i].substr(0, 20),
             fmt::format("must have at most {} bytes and no zero byte", kLongestPath));
}

TlsFiles tls_files(const std::string& path, std::string ca, std::string certificate,
                   std::string key, FieldErrors& errors) {
  TlsFiles files{.ca = std::move(ca), .certificate = std::move(certificate), .key = std::move(key)};
  if (files.empty()) return files;
  if (files.ca.empty()) errors.push_back(resource::required(path + ".ca"));
  if (files.certificate.empty()) errors.push_back(resource::required(path + ".certificate"));
  if (files.key.empty()) errors.push_back(resource::required(path + ".key"));
  return files;
}

Result<WebAddress> parse_web_address(std::string_view text) {
  const auto wrong = [](std::string_view why) {
    return fail(Code::invalid,
                fmt::format("must be a URL such as https://127.0.0.1:6443/livez: {}", why));
  };
  WebAddress address;
  if (text.starts_with("https://")) {
    address.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return wrong("it begins with neither http:// nor https://");
  }
  if (!is_printable(text)) return wrong("it has a character that must be escaped");
  const std::size_t path_at = std::min(text.find_first_of("/?#"), text.size());
  std::string_view authority = text.substr(0, path_at);
  std::string_view rest = text.substr(path_at);
  if (rest.contains('#')) return wrong("it has a fragment");
  if (authority.contains('@')) return wrong("it has a user");
  address.path = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  address.port = address.tls ? 443 : 80;
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return wrong("a bracket is missing");
    address.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    const Result<Ip> ip = Ip::parse(address.host);
    if (!ip || ip->is_v4()) return wrong("no IPv6 address is in the brackets");
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    address.host = authority.substr(0, colon);
    port = authority.substr(colon);
    if (address.host.empty() || address.host.find_first_of("[]\\\"<>^`{|}") != std::string::npos)
      return wrong("it has no host");
  }
  if (port.empty()) return address;
  if (!port.starts_with(':')) return wrong("something follows the bracket");
  const Result<std::uint16_t> number = parse_port(port.substr(1));
  if (!number) return wrong(number.error().message);
  address.port = *number;
  address.port_given = true;
  return address;
}

void MemberList::add(const std::string& name, const std::string& name_path,
                     const runtime::Endpoint& address, const std::string& address_path,
                     FieldErrors& errors) {
  const std::string text = address.to_string();
  const auto [by_name, new_name] = by_name_.try_emplace(name, Known{text, name_path});
  if (!new_name)
    refuse(errors, name_path, name, "is the name at " + by_name->second.path + ", too");
  const auto [by_address, new_address] = by_address_.try_emplace(text, address_path);
  if (!new_address)
    refuse(errors, address_path, text, "is the address at " + by_address->second + ", too");
  if (const Result<Ip> ip = Ip::parse(address.host)) by_ip_.try_emplace(*ip, address_path);
}

std::vector<Member> MemberList::members() const {
  std::vector<Member> all;
  for (const auto& [name, known] : by_name_)
    all.push_back({.name = name, .address = known.address});
  return all;
}

const std::string* MemberList::holder_of(const Ip& ip) const {
  const auto at = by_ip_.find(ip);
  return at == by_ip_.end() ? nullptr : &at->second;
}

}  // namespace fairlead::vip
