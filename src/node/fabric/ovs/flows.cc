#include "node/fabric/ovs/flows.h"

#include <algorithm>
#include <string>

namespace fairlead::fabric::ovs {
namespace {

using namespace wire::openflow;  // NOLINT: every name here is one of its

constexpr std::uint16_t kNever = 0;  // priorities
constexpr std::uint16_t kNormal = 100;
constexpr std::uint16_t kSolicitation = 150;
constexpr std::uint16_t kOwnAddress = 200;
constexpr std::uint16_t kForbidden = 300;

constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kRouterSolicitation = 133;
constexpr std::uint8_t kRouterAdvertisement = 134;
constexpr std::uint8_t kNeighbourSolicitation = 135;
constexpr std::uint8_t kNeighbourAdvertisement = 136;
constexpr std::uint8_t kRedirect = 137;
constexpr std::uint32_t kSolicitedOverride = 0x60000000;
constexpr std::uint8_t kTargetAddressOption = 2;

std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char letter : text) {
    value ^= static_cast<unsigned char>(letter);
    value *= 0x100000001b3;
  }
  return value ^ value >> 32;
}

Match sorted(Match match) {
  std::ranges::sort(match);
  return match;
}

Match operator+(Match match, const Match& more) {
  match.insert(match.end(), more.begin(), more.end());
  return match;
}

Match ethernet(std::uint16_t type) { return {exactly(kEthType, type)}; }

Match icmpv6(std::uint8_t type) {
  return ethernet(kEthTypeIpv6) + Match{exactly(kIpProto, kIcmpv6), exactly(kIcmpv6Type, type)};
}

Match solicitation() { return icmpv6(kNeighbourSolicitation) + Match{exactly(kIcmpv6Code, 0)}; }

// Collects the flows of one cookie.
struct Flows {
  std::uint64_t cookie;
  std::vector<Flow> list;

  Flow& add(std::uint8_t table, std::uint16_t priority, Match match) {
    Flow& flow = list.emplace_back();
    flow.table = table;
    flow.priority = priority;
    flow.cookie = cookie;
    flow.match = sorted(std::move(match));
    return flow;
  }
};

// What a local station may send, and where it goes on.
void admit(Flows& flows, const Station& station, std::uint32_t port) {
  const Match from = {exactly(kInPort, port)};
  const Match own = from + Match{exactly(kEthSrc, station.mac)};
  const auto pass = [&](std::uint16_t priority, const Match& match, std::uint8_t next) {
    Flow& flow = flows.add(kAdmit, priority, own + match);
    flow.actions = {SetField{exactly(kTunnelId, station.vni)}};
    flow.goto_table = next;
  };
  bool any_v6 = false;
  for (const Ip& ip : station.addresses) {
    // Asking for its own address is announcing it: an answer would look like a rival.
    if (ip.is_v4()) {
      flows.add(kAdmit, kOwnAddress, from + ethernet(kEthTypeArp) + Match{exactly(kArpTpa, ip)});
      pass(kNormal,
           ethernet(kEthTypeArp) +
               Match{exactly(kArpOp, 1), exactly(kArpSpa, ip), exactly(kArpSha, station.mac)},
           kAnswer);
      pass(kNormal, ethernet(kEthTypeIpv4) + Match{exactly(kIpv4Src, ip)}, kDeliver);
    } else {
      any_v6 = true;
      flows.add(kAdmit, kOwnAddress, from + solicitation() + Match{exactly(kNdTarget, ip)});
      pass(kSolicitation, solicitation() + Match{exactly(kIpv6Src, ip)}, kAnswer);
      pass(kNormal, ethernet(kEthTypeIpv6) + Match{exactly(kIpv6Src, ip)}, kDeliver);
    }
  }
  static const Cidr kLinkLocal = *Cidr::parse("fe80::/10");
  if (any_v6) pass(kSolicitation, solicitation() + Match{within(kIpv6Src, kLinkLocal)}, kAnswer);
}

// What may come for a remote station: its own, and only from where it is.
void admit_remote(Flows& flows, const Station& station, std::uint32_t tunnel) {
  const FieldId source = station.host.is_v4() ? kTunnelIpv4Src : kTunnelIpv6Src;
  const Match from = {exactly(kInPort, tunnel), exactly(kTunnelId, station.vni),
                      exactly(source, station.host), exactly(kEthSrc, station.mac)};
  for (const Ip& ip : station.addresses) {
    const Match own = ip.is_v4() ? ethernet(kEthTypeIpv4) + Match{exactly(kIpv4Src, ip)}
                                 : ethernet(kEthTypeIpv6) + Match{exactly(kIpv6Src, ip)};
    flows.add(kAdmit, kNormal, from + own).goto_table = kDeliver;
  }
}

void answer(Flows& flows, const Station& station) {
  const Match network = {exactly(kTunnelId, station.vni)};
  for (const Ip& ip : station.addresses) {
    const Match question =
        ip.is_v4() ? ethernet(kEthTypeArp) + Match{exactly(kArpOp, 1), exactly(kArpTpa, ip)}
                   : solicitation() + Match{exactly(kNdTarget, ip)};
    Flow& flow = flows.add(kAnswer, kNormal, network + question);
    flow.actions = {Move{kEthSrc, kEthDst}, SetField{exactly(kEthSrc, station.mac)}};
    flow.goto_table = kReply;
  }
}

void deliver(Flows& flows, const Station& station, std::uint32_t port, std::uint32_t tunnel) {
  Flow& flow = flows.add(kDeliver, kNormal,
                         {exactly(kTunnelId, station.vni), exactly(kEthDst, station.mac)});
  if (station.local()) {
    flow.actions = {Output{port}};
    return;
  }
  const FieldId destination = station.host.is_v4() ? kTunnelIpv4Dst : kTunnelIpv6Dst;
  flow.actions = {SetField{exactly(destination, station.host)}, Output{tunnel}};
}

}  // namespace

std::uint64_t cookie_of(std::string_view id) {
  const std::uint64_t bits = hash(id) & 0xffffffffffff;
  return kBaseCookie | (bits == 0 ? 1 : bits);
}

std::vector<Flow> station_flows(const Station& station, std::uint32_t port, std::uint32_t tunnel) {
  Flows flows{cookie_of(station.id), {}};
  if (!check_host(station)) return {};
  if (station.local())
    admit(flows, station, port);
  else
    admit_remote(flows, station, tunnel);
  answer(flows, station);
  deliver(flows, station, port, tunnel);
  return std::move(flows.list);
}

std::vector<Flow> base_flows(std::uint32_t tunnel) {
  Flows flows{kBaseCookie, {}};
  for (const std::uint8_t table : {kAdmit, kAnswer, kReply, kReplyNd, kDeliver})
    flows.add(table, kNever, {});

  // Nobody but the bridge itself says who a neighbour or a router is.
  for (const std::uint8_t type :
       {kRouterSolicitation, kRouterAdvertisement, kNeighbourAdvertisement, kRedirect})
    flows.add(kAdmit, kForbidden, icmpv6(type));
  const Match from_tunnel = {exactly(kInPort, tunnel)};
  flows.add(kAdmit, kForbidden, from_tunnel + icmpv6(kNeighbourSolicitation));
  // It may be cut into fragments, in which a switch does not see it: only those of packets with a
  // hop limit of 255 would be believed.
  const Match v6 = ethernet(kEthTypeIpv6);
  flows.add(kAdmit, kForbidden,
            v6 + Match{with_bits(kIpFragment, kAnyFragment), exactly(kIpTtl, 255)});
  // So appears what a switch could not read to the end of its extension headers.
  flows.add(kAdmit, kForbidden, v6 + Match{exactly(kIpTtl, 0)});
  // The type of a frame is what comes behind its VLAN tag: without this, tags would pass.
  flows.add(kAdmit, kForbidden, {with_bits(kVlanVid, kVlanTagged)});

  flows.add(kReply, kNormal, ethernet(kEthTypeArp)).actions = {SetField{exactly(kArpOp, 2)},
                                                               Move{kArpSha, kArpTha},
                                                               Move{kEthSrc, kArpSha},
                                                               Move{kArpTpa, kRegister0},
                                                               Move{kArpSpa, kArpTpa},
                                                               Move{kRegister0, kArpSpa},
                                                               Output{kPortIn}};
  Flow& reply = flows.add(kReply, kNormal, solicitation());
  reply.actions = {
      Move{kIpv6Src, kIpv6Dst}, Move{kNdTarget, kIpv6Src},
      SetField{exactly(kIcmpv6Type, kNeighbourAdvertisement)},
      // By way of a register: over a kernel's datapath a switch refuses to set these
      // two, and only to set them. (It carries it out itself, packet by packet.)
      SetField{exactly(kRegister0, kTargetAddressOption)}, Move{kRegister0, kNdOptionType},
      SetField{exactly(kRegister0, kSolicitedOverride)}, Move{kRegister0, kNdReserved}};
  reply.goto_table = kReplyNd;
  flows.add(kReplyNd, kNormal, icmpv6(kNeighbourAdvertisement)).actions = {
      Move{kEthSrc, kNdTargetMac}, Output{kPortIn}};
  return std::move(flows.list);
}

std::optional<std::uint32_t> in_port_of(const Flow& flow) {
  const auto field = std::ranges::find(flow.match, kInPort, &Field::id);
  if (field == flow.match.end() || field->value.size() != kInPort.bytes) return std::nullopt;
  std::uint32_t port = 0;
  for (const char byte : field->value) port = port << 8 | static_cast<unsigned char>(byte);
  return port;
}

std::uint64_t fingerprint(const Flow& flow) { return hash(canonical_bytes(flow)); }

std::uint64_t fingerprint(std::span<const Flow> flows) {
  std::uint64_t sum = 0;
  for (const Flow& flow : flows) sum += fingerprint(flow);
  return sum;
}

}  // namespace fairlead::fabric::ovs
