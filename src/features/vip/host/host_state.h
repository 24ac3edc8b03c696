// HostState: the interfaces and addresses of one network namespace, as the kernel tells of them by
// rtnetlink. Pure: messages go in, from a listing or as news; the order of the news is the
// kernel's.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/ip.h"

struct nlmsghdr;
struct nlattr;

namespace fairlead::vip {

// The address in an attribute of a message about this family (AF_…); nothing: it is none, or not
// there.
std::optional<Ip> ip_in(unsigned char family, const nlattr* attribute);

// Written beside each address that we add (IFA_PROTO, Linux 5.18), so that a later process knows it
// for ours. Numbers below 4 are the kernel's; the others are free for programs to choose.
constexpr std::uint8_t kAddressProtocol = 0xf1;
// Addresses that routers announce, kept by the engine and by the agent (vip/routes): they end by
// themselves, so nobody has to recognise left-overs.
constexpr std::uint8_t kHeldRouteProtocol = 0xf2;
constexpr std::uint8_t kAnycastProtocol = 0xf3;

struct HostLink {
  std::uint32_t ifindex = 0;
  std::string name;
  Mac mac;
  bool ethernet = false;
  bool loopback = false;
  bool up = false;
  bool carrier = false;
  std::string port_of;  // "bridge", "bond", …: what it is a part of; empty: of nothing
  auto operator<=>(const HostLink&) const = default;
};

struct HostAddress {
  std::uint32_t ifindex = 0;
  Ip ip;
  int prefix = 0;
  auto operator<=>(const HostAddress&) const = default;
};
struct AddressFacts {
  Cidr on_link;  // what the address makes reachable: its network, or that of its peer
  std::uint8_t protocol = 0;
  bool ours() const { return protocol == kAddressProtocol; }
  auto operator<=>(const AddressFacts&) const = default;
};

// What a message changed.
enum class News {
  nothing,
  own_address,  // one that we added
  other,
};

struct HostState {
  std::map<std::uint32_t, HostLink> links;
  std::map<HostAddress, AddressFacts> addresses;

  // nullptr: there is none.
  const HostLink* find(std::string_view name) const;
  // Takes one message in. Messages about other things, and broken ones, change nothing.
  News take(nlmsghdr* message);
  // All messages of one datagram; the weightiest of what they changed.
  News take_all(std::string& messages);

  bool operator==(const HostState&) const = default;

 private:
  News take_link(nlmsghdr* message);
  News take_address(nlmsghdr* message);
};

}  // namespace fairlead::vip
