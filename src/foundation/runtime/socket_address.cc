#include "foundation/runtime/socket_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace fairlead::runtime {
namespace {

std::optional<SocketAddress> unix_address(const std::string& path) {
  SocketAddress address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() >= sizeof un.sun_path) return std::nullopt;
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), path.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

std::optional<SocketAddress> v6_address(std::string host, std::uint16_t port) {
  SocketAddress address;
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  // "fe80::1%eth0": a link-local address means nothing without its interface.
  if (const std::size_t percent = host.find('%'); percent != std::string::npos) {
    v6.sin6_scope_id = ::if_nametoindex(host.c_str() + percent + 1);
    if (v6.sin6_scope_id == 0) return std::nullopt;
    host.resize(percent);
  }
  if (!host.empty() && ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  address.length = sizeof v6;
  return address;
}

}  // namespace

std::optional<SocketAddress> numeric_address(const Endpoint& endpoint) {
  if (endpoint.kind == Endpoint::Kind::unix_socket) return unix_address(endpoint.host);
  SocketAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    address.length = sizeof v4;
    return address;
  }
  return v6_address(endpoint.host, endpoint.port);
}

Endpoint endpoint_of(const SocketAddress& address) {
  Endpoint endpoint;
  char text[INET6_ADDRSTRLEN] = {};
  if (address.family() == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    endpoint.host = ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    endpoint.port = ntohs(v4.sin_port);
  } else if (address.family() == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    endpoint.port = ntohs(v6.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      // A v4 peer of a dual-stack listener is shown as what it is.
      endpoint.host = ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof text);
      return endpoint;
    }
    endpoint.host = ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    char name[IF_NAMESIZE] = {};
    if (v6.sin6_scope_id != 0 && ::if_indextoname(v6.sin6_scope_id, name))
      endpoint.host.append("%").append(name);
  } else {
    endpoint.kind = Endpoint::Kind::unix_socket;
    const auto& un = reinterpret_cast<const sockaddr_un&>(address.storage);
    const std::size_t room = std::min<std::size_t>(address.length, sizeof un);
    if (room > offsetof(sockaddr_un, sun_path))
      endpoint.host.assign(un.sun_path,
                           ::strnlen(un.sun_path, room - offsetof(sockaddr_un, sun_path)));
  }
  return endpoint;
}

}  // namespace fairlead::runtime
