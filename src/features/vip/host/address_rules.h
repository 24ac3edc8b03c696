// What is decided about addresses of virtual IPs on a host: where one may be held, and what is to
// be added and removed. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "features/vip/host/host_state.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

// Whether the VIP can be held at the interface: an Ethernet interface (VLANs, bridges, bonds and
// the like are) that is up, has a carrier and is no part of another one; the VIP is on-link there,
// by a network of the interface or because `routed`: a route says so; and it is not an address that
// the host has for another reason. Fails naming what is missing.
Result<> check_usable(const HostState& host, const Ip& vip, const std::string& interface,
                      bool routed);

// Whether a network of the interface has the VIP.
bool is_on_link(const HostState& host, const Ip& vip, std::uint32_t ifindex);

// The VIP's address, added by us, is on the interface.
bool has_address(const HostState& host, const Ip& vip, std::uint32_t ifindex);

struct AddressChange {
  enum class Kind { remove, add };
  Kind kind = Kind::add;
  HostAddress address;
  auto operator<=>(const AddressChange&) const = default;
};

// What brings the addresses to what is wanted (VIP → interface): ours that nobody wants go, those
// that are missing come as soon as their interface is up. Addresses of others stay as they are, and
// a VIP that is one of them is not added.
std::vector<AddressChange> plan_addresses(const HostState& host,
                                          const std::map<Ip, std::string>& wanted);

// The interfaces by which somebody may reach this host: all that are up, but for lo, and for parts
// of bridges and bonds, whose frames pass the whole.
std::vector<std::string> client_interfaces(const HostState& host);

}  // namespace fairlead::vip
