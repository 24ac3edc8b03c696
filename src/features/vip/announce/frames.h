// The Ethernet frames by which a host says that an address is its own: gratuitous ARP (RFC 5227)
// and unsolicited neighbour advertisements (RFC 4861), and what others say by them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/ip.h"

namespace fairlead::vip {

// What to send so that every neighbour learns the address: for IPv4 an ARP request and a reply
// (some hosts heed only one of them), for IPv6 an unsolicited advertisement to all nodes, with
// Override.
std::vector<std::string> announcements(const Ip& address, const Mac& mac);

// Asks whether anybody has the address, without claiming it: an ARP probe, or a neighbour
// solicitation from the unspecified address.
std::string probe(const Ip& address, const Mac& mac);

// Asks for a neighbour's MAC, as a host does that has `from`: an ARP request, or a neighbour
// solicitation. It claims `from`, too.
std::string question(const Ip& from, const Mac& mac, const Ip& neighbour);

// A frame's claim to an address.
struct AddressClaim {
  Ip address;
  Mac mac;  // that it is said to be at
  bool operator==(const AddressClaim&) const = default;
};
// The claim that an ARP frame (sender's addresses) or a neighbour advertisement makes; nothing if
// the frame is neither, makes none (a probe), or is broken. Tags of VLANs are passed over.
std::optional<AddressClaim> claim_in(std::string_view frame);

}  // namespace fairlead::vip
