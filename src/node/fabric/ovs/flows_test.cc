// A small switch runs the flows: it looks up and acts as OpenFlow says, on packets that are maps
// from field to bytes.
#include "node/fabric/ovs/flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "node/fabric/names.h"

namespace fairlead::fabric::ovs {
namespace {

using namespace wire::openflow;  // NOLINT

constexpr std::uint32_t kTunnel = 1;
using Packet = std::map<FieldId, std::string>;

void set(Packet& packet, const Field& field) { packet[field.id] = field.value; }

class Switch {
 public:
  explicit Switch(std::vector<Flow> flows) { add(std::move(flows)); }
  void add(std::vector<Flow> flows) {
    for (Flow& flow : flows) flows_.push_back(std::move(flow));
  }

  struct Sent {
    std::uint32_t port;
    Packet packet;
  };
  // What leaves the switch, and where; never where it came in unless it says so.
  std::vector<Sent> send(std::uint32_t port, Packet packet) const {
    set(packet, exactly(kInPort, port));
    std::vector<Sent> sent;
    for (std::optional<std::uint8_t> table = 0; table;) {
      const Flow* flow = look_up(*table, packet);
      if (!flow) break;
      for (const Action& action : flow->actions) {
        if (const auto* field = std::get_if<SetField>(&action)) set(packet, field->field);
        if (const auto* move = std::get_if<Move>(&action)) {
          const std::string& from = packet[move->from];
          packet[move->to] =
              from.substr(from.size() - std::min<std::size_t>(from.size(), move->to.bytes));
        }
        const auto* output = std::get_if<Output>(&action);
        if (output && output->port == kPortIn) sent.push_back({port, packet});
        if (output && output->port != kPortIn && output->port != port)
          sent.push_back({output->port, packet});
      }
      table = flow->goto_table;
    }
    return sent;
  }

 private:
  static bool matches(const Field& field, const Packet& packet) {
    const auto found = packet.find(field.id);
    if (found == packet.end()) return false;
    for (std::size_t at = 0; at < field.value.size(); ++at) {
      const char mask = field.mask.empty() ? '\xff' : field.mask[at];
      if ((found->second[at] & mask) != (field.value[at] & mask)) return false;
    }
    return true;
  }
  const Flow* look_up(std::uint8_t table, const Packet& packet) const {
    const Flow* best = nullptr;
    for (const Flow& flow : flows_) {
      if (flow.table != table || (best && flow.priority <= best->priority)) continue;
      if (std::ranges::all_of(flow.match, [&](const Field& f) { return matches(f, packet); }))
        best = &flow;
    }
    return best;
  }
  std::vector<Flow> flows_;
};

Mac mac(std::string_view text) { return *Mac::parse(text); }
Ip ip(std::string_view text) { return *Ip::parse(text); }

const Mac kMacA = mac("02:00:00:00:07:61");
const Mac kMacB = mac("02:00:00:00:07:62");
const Mac kMacC = mac("02:00:00:00:07:63");

Station station(const std::string& id, Vni vni, const Mac& own, std::string_view v4,
                std::string_view v6, std::string_view host = {}) {
  Station made{.id = id, .vni = vni, .mac = own, .addresses = {ip(v4), ip(v6)}};
  if (host.empty())
    made.interface = guest_interface_name(id);
  else
    made.host = ip(host);
  return made;
}

// a on port 2 and b on port 3 here, c on another host; x with a's and c's addresses in another VNI.
Switch three_stations() {
  Switch bridge(base_flows(kTunnel));
  bridge.add(station_flows(station("a", 7, kMacA, "10.0.0.10", "fd00::10"), 2, kTunnel));
  bridge.add(station_flows(station("b", 7, kMacB, "10.0.0.11", "fd00::11"), 3, kTunnel));
  bridge.add(
      station_flows(station("c", 7, kMacC, "10.0.0.12", "fd00::12", "192.0.2.2"), 0, kTunnel));
  bridge.add(station_flows(station("x", 8, kMacA, "10.0.0.10", "fd00::10"), 4, kTunnel));
  return bridge;
}

Packet ipv4(const Mac& from, const Mac& to, std::string_view source) {
  Packet packet;
  for (const Field& field : {exactly(kEthSrc, from), exactly(kEthDst, to),
                             exactly(kEthType, kEthTypeIpv4), exactly(kIpv4Src, ip(source))})
    set(packet, field);
  return packet;
}

Packet ipv6(const Mac& from, const Mac& to, std::string_view source, std::uint8_t protocol = 6) {
  Packet packet;
  for (const Field& field :
       {exactly(kEthSrc, from), exactly(kEthDst, to), exactly(kEthType, kEthTypeIpv6),
        exactly(kIpv6Src, ip(source)), exactly(kIpProto, protocol), exactly(kIpTtl, 64)})
    set(packet, field);
  return packet;
}

Packet with(Packet packet, const Field& field) {
  set(packet, field);
  return packet;
}

Packet arp(const Mac& from, std::uint16_t op, const Mac& sha, std::string_view spa,
           std::string_view tpa) {
  Packet packet;
  for (const Field& field :
       {exactly(kEthSrc, from), exactly(kEthDst, mac("ff:ff:ff:ff:ff:ff")),
        exactly(kEthType, kEthTypeArp), exactly(kArpOp, op), exactly(kArpSha, sha),
        exactly(kArpSpa, ip(spa)), exactly(kArpTpa, ip(tpa)), exactly(kArpTha, Mac())})
    set(packet, field);
  return packet;
}

Packet icmpv6(const Mac& from, const Mac& to, std::string_view source, std::uint8_t type,
              std::string_view target) {
  Packet packet = ipv6(from, to, source, 58);
  for (const Field& field :
       {exactly(kIcmpv6Type, type), exactly(kIcmpv6Code, 0), exactly(kNdTarget, ip(target))})
    set(packet, field);
  return packet;
}

// Unicast between stations of one network goes to the port or to the host, with the network's key.
TEST(OvsFlows, Delivers) {
  const Switch bridge = three_stations();
  for (const Packet& to_b : {ipv4(kMacA, kMacB, "10.0.0.10"), ipv6(kMacA, kMacB, "fd00::10")}) {
    const auto sent = bridge.send(2, to_b);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].port, 3u);
  }
  const auto sent = bridge.send(2, ipv4(kMacA, kMacC, "10.0.0.10"));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, kTunnel);
  EXPECT_EQ(sent[0].packet.at(kTunnelId), exactly(kTunnelId, 7).value);
  EXPECT_EQ(sent[0].packet.at(kTunnelIpv4Dst), exactly(kTunnelIpv4Dst, ip("192.0.2.2")).value);
}

Packet tunnelled(Packet packet, Vni vni, std::string_view host) {
  set(packet, exactly(kTunnelId, vni));
  set(packet, exactly(ip(host).is_v4() ? kTunnelIpv4Src : kTunnelIpv6Src, ip(host)));
  return packet;
}

// From the tunnel: to the station of that key, never out through the tunnel again.
TEST(OvsFlows, TakesFromTheTunnel) {
  const Switch bridge = three_stations();
  const std::string_view host = "192.0.2.2";
  const Packet packet = ipv4(kMacC, kMacA, "10.0.0.12");
  const auto sent = bridge.send(kTunnel, tunnelled(packet, 7, host));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, 2u);
  const Packet six = ipv6(kMacC, kMacA, "fd00::12");
  EXPECT_EQ(bridge.send(kTunnel, tunnelled(six, 7, host)).size(), 1u);
  const Packet back = ipv4(kMacA, kMacC, "10.0.0.10");
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(back, 7, host)).empty());
  const Packet foreign_arp = arp(kMacC, 1, kMacC, "10.0.0.12", "10.0.0.10");
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(foreign_arp, 7, host)).empty());
  for (const std::uint8_t type : {133, 134, 135, 136, 137}) {
    const Packet nd = icmpv6(kMacC, kMacA, "fd00::12", type, "fd00::10");
    EXPECT_TRUE(bridge.send(kTunnel, tunnelled(nd, 7, host)).empty()) << int{type};
  }
  const Packet piece = with(with(six, exactly(kIpFragment, 1)), exactly(kIpTtl, 255));
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(piece, 7, host)).empty());
  const Packet tagged = with(packet, exactly(kVlanVid, kVlanTagged | 5));
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(tagged, 7, host)).empty());
}

// Nobody on the underlay speaks for a station but the host that it is behind, and that one only for
// its own stations, with their own addresses, in their network.
TEST(OvsFlows, ChecksWhoSpeaksInTheTunnel) {
  Switch bridge = three_stations();
  bridge.add(station_flows(
      station("d", 7, mac("02:00:00:00:07:64"), "10.0.0.13", "fd00::13", "2001:db8::3"), 0,
      kTunnel));
  const Packet from_c = ipv4(kMacC, kMacA, "10.0.0.12");
  EXPECT_EQ(bridge.send(kTunnel, tunnelled(from_c, 7, "192.0.2.2")).size(), 1u);
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(from_c, 7, "192.0.2.3")).empty()) << "another host";
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(from_c, 8, "192.0.2.2")).empty()) << "network";
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(from_c, 9, "192.0.2.2")).empty()) << "no network";
  const Packet as_b = ipv4(kMacB, kMacA, "10.0.0.11");
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(as_b, 7, "192.0.2.2")).empty()) << "a local station";
  const Packet address_of_b = ipv4(kMacC, kMacA, "10.0.0.11");
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(address_of_b, 7, "192.0.2.2")).empty()) << "address";
  const Packet as_d = ipv6(mac("02:00:00:00:07:64"), kMacA, "fd00::13");
  EXPECT_EQ(bridge.send(kTunnel, tunnelled(as_d, 7, "2001:db8::3")).size(), 1u);
  EXPECT_TRUE(bridge.send(kTunnel, tunnelled(as_d, 7, "192.0.2.2")).empty()) << "the wrong host";
}

// ARP requests come back as the answer, for stations here and elsewhere.
TEST(OvsFlows, AnswersArp) {
  const Switch bridge = three_stations();
  for (const auto& [target, owner] :
       {std::pair("10.0.0.11", kMacB), std::pair("10.0.0.12", kMacC)}) {
    const auto sent = bridge.send(2, arp(kMacA, 1, kMacA, "10.0.0.10", target));
    ASSERT_EQ(sent.size(), 1u) << target;
    EXPECT_EQ(sent[0].port, 2u);
    const Packet& answer = sent[0].packet;
    for (const Field& field : {exactly(kEthSrc, owner), exactly(kEthDst, kMacA), exactly(kArpOp, 2),
                               exactly(kArpSha, owner), exactly(kArpSpa, ip(target)),
                               exactly(kArpTha, kMacA), exactly(kArpTpa, ip("10.0.0.10"))})
      EXPECT_EQ(answer.at(field.id), field.value) << target << " field " << int{field.id.number};
  }
}

// So do neighbour solicitations, also those from a link-local address.
TEST(OvsFlows, AnswersNeighbourSolicitation) {
  const Switch bridge = three_stations();
  for (const std::string_view source : {"fd00::10", "fe80::ff:fe00:1"}) {
    const auto sent =
        bridge.send(2, icmpv6(kMacA, mac("33:33:ff:00:00:12"), source, 135, "fd00::12"));
    ASSERT_EQ(sent.size(), 1u) << source;
    EXPECT_EQ(sent[0].port, 2u);
    const Packet& answer = sent[0].packet;
    for (const Field& field :
         {exactly(kEthSrc, kMacC), exactly(kEthDst, kMacA), exactly(kIpv6Src, ip("fd00::12")),
          exactly(kIpv6Dst, ip(source)), exactly(kIcmpv6Type, 136), exactly(kNdTargetMac, kMacC),
          exactly(kNdOptionType, 2), exactly(kNdReserved, 0x60000000)})
      EXPECT_EQ(answer.at(field.id), field.value) << source << " field " << int{field.id.number};
  }
}

Packet fragment(Packet packet, std::uint8_t which, std::uint8_t hop_limit) {
  set(packet, exactly(kIpFragment, which));
  set(packet, exactly(kIpTtl, hop_limit));
  return packet;
}

// Everything else is dropped.
TEST(OvsFlows, Drops) {
  const Switch bridge = three_stations();
  const Mac every = mac("ff:ff:ff:ff:ff:ff");
  const Mac evil = mac("02:00:00:00:66:66");
  struct Case {
    std::string_view name;
    Packet packet;
  };
  const Case cases[] = {
      {"foreign MAC", ipv4(evil, kMacB, "10.0.0.10")},
      {"foreign IPv4", ipv4(kMacA, kMacB, "10.0.0.12")},
      {"foreign IPv6", ipv6(kMacA, kMacB, "fd00::12")},
      {"link-local to a neighbour", ipv6(kMacA, kMacB, "fe80::1")},
      {"broadcast", ipv4(kMacA, every, "10.0.0.10")},
      {"multicast", ipv6(kMacA, mac("33:33:00:00:00:01"), "fd00::10")},
      {"unknown MAC", ipv4(kMacA, evil, "10.0.0.10")},
      {"to itself", ipv4(kMacA, kMacA, "10.0.0.10")},
      {"ARP from another's address", arp(kMacA, 1, kMacA, "10.0.0.11", "10.0.0.12")},
      {"ARP from another's MAC", arp(kMacA, 1, kMacB, "10.0.0.10", "10.0.0.12")},
      {"ARP answer", arp(kMacA, 2, kMacA, "10.0.0.10", "10.0.0.11")},
      {"announcement of its own address", arp(kMacA, 1, kMacA, "10.0.0.10", "10.0.0.10")},
      {"ARP for nobody", arp(kMacA, 1, kMacA, "10.0.0.10", "10.0.0.77")},
      {"solicitation of its own address", icmpv6(kMacA, every, "fd00::10", 135, "fd00::10")},
      {"duplicate address detection", icmpv6(kMacA, every, "::", 135, "fd00::10")},
      {"advertisement", icmpv6(kMacA, kMacB, "fd00::10", 136, "fd00::12")},
      {"router advertisement", icmpv6(kMacA, kMacB, "fd00::10", 134, "::")},
      {"redirect", icmpv6(kMacA, kMacB, "fd00::10", 137, "fd00::12")},
      {"VLAN tag", with(ipv4(kMacA, kMacB, "10.0.0.10"), exactly(kVlanVid, kVlanTagged | 5))},
      {"VLAN tag of IPv6", with(ipv6(kMacA, kMacB, "fd00::10"), exactly(kVlanVid, kVlanTagged))},
      {"unreadable extension headers", with(ipv6(kMacA, kMacB, "fd00::10"), exactly(kIpTtl, 0))},
      {"discovery in fragments, the first", fragment(ipv6(kMacA, kMacB, "fd00::10", 58), 1, 255)},
      {"discovery in fragments, a later", fragment(ipv6(kMacA, kMacB, "fd00::10", 44), 3, 255)},
      {"something else than IP", with(ipv4(kMacA, kMacB, "10.0.0.10"), exactly(kEthType, 0x88cc))},
  };
  EXPECT_EQ(bridge.send(2, fragment(ipv6(kMacA, kMacB, "fd00::10", 58), 1, 64)).size(), 1u)
      << "no receiver takes it for discovery";
  for (const Case& c : cases) EXPECT_TRUE(bridge.send(2, c.packet).empty()) << c.name;
  EXPECT_TRUE(bridge.send(99, ipv4(kMacA, kMacB, "10.0.0.10")).empty()) << "unknown port";
}

// Two networks never meet: x asks for b, and sends to b's MAC.
TEST(OvsFlows, NetworksAreApart) {
  const Switch bridge = three_stations();
  EXPECT_TRUE(bridge.send(4, arp(kMacA, 1, kMacA, "10.0.0.10", "10.0.0.11")).empty());
  EXPECT_TRUE(bridge.send(4, ipv4(kMacA, kMacB, "10.0.0.10")).empty());
}

// Matches are sorted, so that what a switch tells compares equal.
TEST(OvsFlows, MatchesAreSorted) {
  for (const Flow& flow : base_flows(kTunnel)) EXPECT_TRUE(std::ranges::is_sorted(flow.match));
  const Station a = station("a", 7, kMacA, "10.0.0.10", "fd00::10");
  for (const Flow& flow : station_flows(a, 2, kTunnel))
    EXPECT_TRUE(std::ranges::is_sorted(flow.match));
}

// The order of flows does not change a fingerprint; anything in them does.
TEST(OvsFlows, Fingerprints) {
  std::vector<Flow> flows = base_flows(kTunnel);
  const std::uint64_t before = fingerprint(flows);
  std::ranges::reverse(flows);
  EXPECT_EQ(fingerprint(flows), before);
  flows[0].priority += 1;
  EXPECT_NE(fingerprint(flows), before);
  EXPECT_NE(cookie_of("a"), cookie_of("b"));
  EXPECT_NE(cookie_of(""), kBaseCookie);
}

// Which port a flow is about, to keep its number from others.
TEST(OvsFlows, InPort) {
  wire::openflow::Flow flow;
  EXPECT_EQ(in_port_of(flow), std::nullopt);
  flow.match = {wire::openflow::exactly(wire::openflow::kInPort, 40000)};
  EXPECT_EQ(in_port_of(flow), 40000u);
  flow.match[0].value.pop_back();
  EXPECT_EQ(in_port_of(flow), std::nullopt);
}

}  // namespace
}  // namespace fairlead::fabric::ovs
