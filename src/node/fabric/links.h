// The host's network interfaces, by rtnetlink: what exists, veth pairs, the VXLAN device; for every
// fabric. A call is one request of the kernel, or a few, and blocks for the answer, so it belongs
// on a blocking thread; one thread at a time. It acts on the network namespace of the thread that
// opened it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"

struct nl_sock;
struct nl_msg;

namespace fairlead::fabric {

// Which fabric made an interface. It is the interface's group, which is set when the interface is
// created, before it has an alias: so one fabric never mistakes an interface that another is still
// making for a leftover.
enum class Maker : std::uint32_t { other = 0, vxlan = 0x666c6b01, ovs = 0x666c6b02 };

struct Link {
  std::uint32_t ifindex = 0;
  std::string name;
  std::string kind;  // "veth", "vxlan"; empty for hardware
  std::string alias;
  std::uint32_t mtu = 0;
  std::uint32_t peer = 0;  // veth: the other end's ifindex; 0 if it is in another namespace
  bool up = false;
  bool loopback = false;
  Maker maker = Maker::other;
  bool metadata = false;       // vxlan: one device for all VNIs, told by tunnel metadata
  std::uint16_t udp_port = 0;  // vxlan
};

// A host end that says nothing of itself and is not in use: the process that made it ended before
// it could say more, or is still at it.
bool is_half_made(const Link& link);

// What fits into a packet to other hosts from an address of this interface. The loopback interface
// may have a host's address where hosts take part in routing, and tells nothing about the way: then
// Ethernet's.
std::uint32_t underlay_mtu(const Link& link);

// At most 15 characters, none of which could mean something to a path or to the kernel.
bool is_interface_name(std::string_view name);

class Links {
 public:
  static Result<Links> open();

  // Tells of every interface, one by one: with thousands of them all at once are much. Of a failure
  // some may have been told. REQUIRES: `told` makes no call of this.
  Result<> each(const std::function<void(Link)>& told);
  // Fails with not_found.
  Result<Link> find(const std::string& name);
  // The interface that has this address. Fails with not_found.
  Result<Link> with_address(const Ip& address);

  struct Veth {
    std::string host_end;
    std::string guest_end;
    Mac guest_mac;
    std::uint32_t mtu = 0;  // of both
    Maker maker = Maker::other;
  };
  // Makes both ends, down, in this namespace, and gives the host's. Half of an earlier attempt is
  // replaced, whoever made it: the name is that of one attachment. Fails with already_exists where
  // a name is taken otherwise.
  Result<Link> make_veth(const Veth& veth);

  // Makes a VXLAN device for all VNIs, down, that takes and sends by tunnel metadata only.
  Result<Link> make_vxlan(const std::string& name, std::uint16_t udp_port, std::uint32_t mtu);

  Result<> set_alias(std::uint32_t ifindex, const std::string& alias);
  Result<> set_mtu(const std::string& name, std::uint32_t mtu);
  Result<> set_mtu(std::uint32_t ifindex, std::uint32_t mtu);
  struct Raise {
    std::string alias;         // empty: as it is
    bool promiscuous = false;  // takes in what is for others, too
    // The host does not answer ARP there, nor route, nor take in what claims to come from
    // elsewhere.
    bool closed = false;
  };
  // Up, without an IPv6 address of its own. All of it in one step, of which the kernel tells
  // everybody who listens.
  Result<> raise(std::uint32_t ifindex, const Raise& how);
  // The kernel completes checksums and cuts segments itself, instead of leaving it to whoever takes
  // the packets.
  Result<> stop_offload(const std::string& name);

  // Removes them; what is gone already is fine. Many cost hardly more than one.
  Result<> remove(std::span<const std::uint32_t> ifindexes);
  Result<> remove(std::span<const std::string> names);

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
  Result<Link> find(Message request, const std::string& what);
  Result<Link> try_make_veth(const Veth& veth);
  Result<> remove_all(std::vector<Message> marks);

  std::unique_ptr<nl_sock, Close> socket_;
};

}  // namespace fairlead::fabric
