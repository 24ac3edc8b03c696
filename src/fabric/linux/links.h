// The host's network interfaces, by rtnetlink: what exists, veth pairs, the VXLAN device. Every
// call is one request of the kernel and blocks for its answer, so it belongs on a blocking thread;
// one thread at a time. It acts on the network namespace of the thread that opened it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

struct nl_sock;
struct nl_msg;

namespace fairlead::fabric::kernel {

struct Link {
  std::uint32_t ifindex = 0;
  std::string name;
  std::string kind;  // "veth", "vxlan"; empty for hardware
  std::string alias;
  std::uint32_t mtu = 0;
  bool up = false;
  bool metadata = false;       // vxlan: one device for all VNIs, told by tunnel metadata
  std::uint16_t udp_port = 0;  // vxlan
};

class Links {
 public:
  static Result<Links> open();

  Result<std::vector<Link>> dump();
  // Fails with not_found.
  Result<Link> find(const std::string& name);
  // The interface that has this address. Fails with not_found.
  Result<Link> with_address(const Ip& address);

  struct Veth {
    std::string host_end;
    std::string guest_end;
    Mac guest_mac;
    std::uint32_t mtu = 0;  // of both
  };
  // Makes both ends, down, in this namespace. Fails with already_exists.
  Result<Link> make_veth(const Veth& veth);

  // Makes a VXLAN device for all VNIs, down, that takes and sends by tunnel metadata only.
  Result<Link> make_vxlan(const std::string& name, std::uint16_t udp_port, std::uint32_t mtu);

  Result<> set_alias(std::uint32_t ifindex, const std::string& alias);
  // Up, without an IPv6 address of its own.
  Result<> raise(std::uint32_t ifindex);

  // Removes them; what is gone already is fine. Many cost hardly more than one.
  Result<> remove(std::span<const std::uint32_t> ifindexes);

 private:
  struct Close {
    void operator()(nl_sock* socket) const;
  };
  struct Free {
    void operator()(nl_msg* message) const;
  };
  using Message = std::unique_ptr<nl_msg, Free>;

  explicit Links(std::unique_ptr<nl_sock, Close> socket) : socket_(std::move(socket)) {}
  static Message link_message(int type, int flags, std::uint32_t ifindex, unsigned raise_flag);
  Result<> request(Message message, const std::string& what);

  std::unique_ptr<nl_sock, Close> socket_;
};

}  // namespace fairlead::fabric::kernel
