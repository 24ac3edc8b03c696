// What a bridge must do with packets, as OpenFlow flows: a pure function of one station.
//
// Tables
//   0 admit    from a local port only what is the station's own; sets the tunnel key to its VNI.
//              From the tunnel only IP of a remote station, from the host that it is behind. From
//              nobody VLAN tags, and neighbour discovery only to be answered (table 1), also not
//              where it is behind extension headers or may be in fragments.
//   1 answer   ARP requests and neighbour solicitations: who has this address in this VNI? Becomes
//   2 reply    the answer, in two steps, because a switch checks each step's fields against what
//   3 reply_nd the packet was when it matched.
//   4 deliver  by VNI and destination MAC, to a port here or through the tunnel to a host.
// What matches nothing is dropped. A packet from the tunnel never leaves through it again: a switch
// does not send out where a packet came in.
//
// Duplicate address detection (from ::) is not let in: a station's addresses are its own without
// asking, and others would not be let in either. Link-local addresses are good for asking who has
// an address, which is what kernels use them for, and for nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "foundation/wire/openflow.h"
#include "node/fabric/fabric.h"

namespace fairlead::fabric::ovs {

constexpr std::uint8_t kAdmit = 0;
constexpr std::uint8_t kAnswer = 1;
constexpr std::uint8_t kReply = 2;
constexpr std::uint8_t kReplyNd = 3;
constexpr std::uint8_t kDeliver = 4;

// The cookie of all flows of one station, and of those that belong to none.
std::uint64_t cookie_of(std::string_view id);
constexpr std::uint64_t kBaseCookie = 0xf1ea000000000000;

// `port` is the station's port if it is local, `tunnel` the tunnel's. None for a station behind
// what cannot be a host.
std::vector<wire::openflow::Flow> station_flows(const Station& station, std::uint32_t port,
                                                std::uint32_t tunnel);
std::vector<wire::openflow::Flow> base_flows(std::uint32_t tunnel);

// The port whose packets alone the flow is about; nullopt: any.
std::optional<std::uint32_t> in_port_of(const wire::openflow::Flow& flow);

// Tells two sets of flows apart: the sum of fingerprints of each, whatever their order.
std::uint64_t fingerprint(const wire::openflow::Flow& flow);
std::uint64_t fingerprint(std::span<const wire::openflow::Flow> flows);

}  // namespace fairlead::fabric::ovs
