#include <charconv>
#include <string>

#include "foundation/runtime/stream.h"

namespace fairlead::runtime {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kUnixPathLimit = 107;  // sockaddr_un has room for 108 with the final zero

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail(Code::invalid, "bad port \"" + std::string(text) + "\"");
  return port;
}

Result<Endpoint> parse_tcp(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail(Code::invalid, "no port");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return fail(Code::invalid, "no closing bracket");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fail(Code::invalid, "an IPv6 address needs brackets");
  }
  if (host.find_first_of("[]/ \t") != std::string_view::npos || host.contains('\0'))
    return fail(Code::invalid, "bad host");
  FL_TRY(const std::uint16_t port, parse_port(text.substr(colon + 1)));
  return Endpoint{.kind = Endpoint::Kind::tcp, .host = std::string(host), .port = port};
}

Result<Endpoint> parse_unix(std::string_view path) {
  if (path.empty()) return fail(Code::invalid, "no path");
  if (path.size() > kUnixPathLimit) return fail(Code::invalid, "path too long for a socket");
  if (path.contains('\0')) return fail(Code::invalid, "zero byte in path");
  return Endpoint{.kind = Endpoint::Kind::unix_socket, .host = std::string(path)};
}

}  // namespace

Result<Endpoint> Endpoint::parse(std::string_view text) {
  Result<Endpoint> endpoint =
      text.starts_with(kUnixPrefix) ? parse_unix(text.substr(kUnixPrefix.size())) : parse_tcp(text);
  if (!endpoint) return fail(endpoint.error().context("endpoint \"" + std::string(text) + "\""));
  return endpoint;
}

std::string Endpoint::to_string() const {
  if (kind == Kind::unix_socket) return std::string(kUnixPrefix).append(host);
  std::string text;
  text.reserve(host.size() + 8);
  const bool brackets = host.contains(':');
  if (brackets) text.push_back('[');
  text.append(host);
  if (brackets) text.push_back(']');
  text.push_back(':');
  text.append(std::to_string(port));
  return text;
}

}  // namespace fairlead::runtime
