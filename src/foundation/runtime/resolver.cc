#include "foundation/runtime/resolver.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>

namespace fairlead::runtime {
namespace {

Result<std::vector<SocketAddress>> look_up(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int status = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (status != 0) {
    const char* why = status == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(status);
    return fail(Code::unavailable, "resolve " + endpoint.host + ": " + why);
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info; info = info->ai_next) {
    if (info->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.length = info->ai_addrlen;
  }
  ::freeaddrinfo(found);
  if (addresses.empty())
    return fail(Code::unavailable, "resolve " + endpoint.host + ": no address");
  return addresses;
}

}  // namespace

Result<std::vector<SocketAddress>> resolve_now(const Endpoint& endpoint) {
  if (const std::optional<SocketAddress> address = numeric_address(endpoint))
    return std::vector{*address};
  if (endpoint.kind == Endpoint::Kind::unix_socket)
    return fail(Code::invalid, endpoint.to_string() + ": path too long for a socket");
  return look_up(endpoint);
}

Task<Result<std::vector<SocketAddress>>> resolve(Runtime& runtime, Endpoint endpoint) {
  if (endpoint.kind == Endpoint::Kind::unix_socket || numeric_address(endpoint))
    co_return resolve_now(endpoint);
  co_return co_await blocking(runtime,
                              [endpoint = std::move(endpoint)] { return look_up(endpoint); });
}

}  // namespace fairlead::runtime
