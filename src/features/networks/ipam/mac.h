// The MAC address that goes with an address: unique within its virtual network because the address
// is. IPv4 is embedded (02:00 and the four bytes); an IPv6 address without an IPv4 one beside it is
// hashed, and the caller tries another `attempt` when the outcome is taken.
#pragma once

#include <cstdint>

#include "foundation/base/ip.h"

namespace fairlead::ipam {

Mac mac_for_ipv4(const Ip& ip);
Mac mac_for_ipv6(const Ip& ip, std::uint32_t attempt);  // 06 and 40 bits of the hash

}  // namespace fairlead::ipam
