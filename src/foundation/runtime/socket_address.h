// Conversion between Endpoint and the kernel's sockaddr. Pure; names are resolved by resolver.h.
#pragma once

#include <sys/socket.h>

#include <optional>

#include "foundation/base/result.h"
#include "foundation/runtime/stream.h"

namespace fairlead::runtime {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// nullopt when the host is a name. An empty host is the IPv6 wildcard, which takes IPv4 too.
std::optional<SocketAddress> numeric_address(const Endpoint& endpoint);

Endpoint endpoint_of(const SocketAddress& address);

}  // namespace fairlead::runtime
