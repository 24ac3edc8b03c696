// IP addresses as numbers, for arithmetic on blocks and sets. IPv4 and IPv6 count separately.
#pragma once

#include "foundation/base/ip.h"

namespace fairlead::ipam {

using AddressNumber = unsigned __int128;

AddressNumber number_of(const Ip& ip);
Ip ip_of(AddressNumber number, bool v4);

// A range; both ends belong to it.
struct AddressRange {
  AddressNumber first = 0;
  AddressNumber last = 0;
  bool operator==(const AddressRange&) const = default;
};

// The addresses of a block that attachments may have, with the usual omissions: the first (the
// network itself; in IPv6 the routers' anycast address), the second (where people put the gateway)
// and, in IPv4, the last (broadcast). Blocks of up to four addresses are used whole.
AddressRange usable_range(const Cidr& block);
bool is_usable(const Cidr& block, const Ip& ip);

}  // namespace fairlead::ipam
