// Ports of 127.0.0.1 for the processes that a test starts, and that nobody else takes meanwhile:
// not the kernel for a connection, since they lie below those that it gives away (of which tests
// side by side use thousands); not another test, since a port is claimed by an abstract socket
// named after it until the FreePorts are gone, also while the process behind it is down.
// tests/free_port.py keeps to the same.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "foundation/base/check.h"

namespace fairlead::store {

class FreePorts {
 public:
  FreePorts() = default;
  FreePorts(const FreePorts&) = delete;
  FreePorts& operator=(const FreePorts&) = delete;
  ~FreePorts() {
    for (const int claim : claims_) ::close(claim);
  }

  std::uint16_t take() {
    std::uniform_int_distribution<int> any(kFirst, end() - 1);
    std::random_device random;
    for (int attempt = 0; attempt < 1000; ++attempt)
      if (const auto port = static_cast<std::uint16_t>(any(random)); claim(port)) return port;
    CHECK(false && "no free port");
    return 0;
  }

  // Whether the port was free, and is now this object's.
  bool claim(std::uint16_t port) {
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string text = "fairlead-test-port-" + std::to_string(port);
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    const int claim = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(claim >= 0);
    if (::bind(claim, reinterpret_cast<sockaddr*>(&name), length) != 0 || !unused(port)) {
      ::close(claim);
      return false;
    }
    claims_.push_back(claim);
    return true;
  }

  // One past the last: the first that the kernel gives to connections.
  static int end() {
    int first = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
    return first > kFirst ? first : 1 << 16;
  }

 private:
  static constexpr int kFirst = 10000;

  static bool unused(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(port);
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0);
    const bool bound =
        ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(listener);
    return bound;
  }

  std::vector<int> claims_;
};

}  // namespace fairlead::store
