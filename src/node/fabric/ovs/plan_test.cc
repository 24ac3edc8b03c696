#include "node/fabric/ovs/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "node/fabric/names.h"
#include "node/fabric/ovs/flows.h"

namespace fairlead::fabric::ovs {
namespace {

constexpr std::uint32_t kTunnel = 1;

Station local(const std::string& id, Vni vni = 7, const std::string& ip = "10.0.0.10") {
  Station station;
  station.id = id;
  station.vni = vni;
  station.mac = *Mac::parse("02:00:00:00:00:0a");
  station.addresses = {*Ip::parse(ip), *Ip::parse("fd00::10")};
  station.interface = guest_interface_name(id);
  return station;
}

Station remote(const std::string& id, const std::string& host = "192.0.2.2") {
  Station station = local(id);
  station.interface.clear();
  station.host = *Ip::parse(host);
  return station;
}

// What a switch would hold after carrying out everything for these stations; ports from 2 on.
Observed carried(const std::vector<Station>& stations) {
  Observed observed;
  std::int64_t number = 1;
  for (const Station& station : stations) {
    std::uint32_t port = 0;
    if (station.local()) {
      const std::string host = host_interface_name(station.interface);
      port = static_cast<std::uint32_t>(++number);
      observed.ports[station.id] = {host, station, number, "", 10 + number, ""};
      observed.links.insert(host);
    }
    observed.flows[cookie_of(station.id)] = fingerprint(station_flows(station, port, kTunnel));
  }
  observed.flows[kBaseCookie] = fingerprint(base_flows(kTunnel));
  return observed;
}

Desired desire(const std::vector<Station>& stations) {
  Desired desired;
  for (const Station& station : stations) desired.emplace(station.id, station);
  return desired;
}

const std::vector<std::string> kA = {"a"};

// What is as desired needs no change at all.
TEST(OvsPlan, NothingToDo) {
  const Desired desired = desire({local("a"), remote("b")});
  const Observed observed = carried({local("a"), remote("b")});
  const std::vector<std::string> ids = {"a", "b", "c"};
  EXPECT_EQ(plan_ports(desired, ids, observed), PortPlan{});
  EXPECT_TRUE(plan_flows(desired, ids, observed, kTunnel).empty());
  EXPECT_EQ(plan_base_flows(observed, kTunnel), std::nullopt);
  EXPECT_TRUE(plan_stray_flows(desired, observed).empty());
  EXPECT_TRUE(is_complete(local("a"), observed, kTunnel));
}

// Each way in which a port can differ, and the least that mends it.
TEST(OvsPlan, Ports) {
  Station renamed = local("a");
  renamed.interface = "fl0000000000001";
  Station other_mac = local("a");
  other_mac.mac = *Mac::parse("02:00:00:00:00:0b");
  Observed no_link = carried({local("a")});
  no_link.links.clear();
  Observed no_port = carried({local("a")});
  no_port.ports.clear();
  Observed unreadable = carried({local("a")});
  unreadable.ports["a"].station.reset();
  const PortPlan anew{.replace = kA, .links = kA, .ports = kA, .records = {}, .remove = {}};
  struct Case {
    std::string_view name;
    Desired desired;
    Observed observed;
    PortPlan plan;
  };
  const Case cases[] = {
      {"new", desire({local("a")}), {}, {.links = kA, .ports = kA}},
      {"only the link was made", desire({local("a")}), no_port, {.ports = kA}},
      {"the link is gone", desire({local("a")}), no_link, anew},
      {"another MAC", desire({other_mac}), carried({local("a")}), anew},
      {"another name", desire({renamed}), carried({local("a")}), anew},
      {"an unreadable record", desire({local("a")}), unreadable, anew},
      {"another VNI", desire({local("a", 8)}), carried({local("a")}), {.records = kA}},
      {"not desired", {}, carried({local("a")}), {.remove = kA}},
      {"moved to another host", desire({remote("a")}), carried({local("a")}), {.remove = kA}},
      {"remote", desire({remote("a")}), {}, {}},
  };
  for (const Case& c : cases) EXPECT_EQ(plan_ports(c.desired, kA, c.observed), c.plan) << c.name;
}

// Flows change as one per station: the old ones go and the new ones come.
TEST(OvsPlan, Flows) {
  const auto added = plan_flows(desire({remote("a")}), kA, {}, kTunnel);
  ASSERT_EQ(added.size(), 1u);
  EXPECT_FALSE(added[0].remove);
  EXPECT_EQ(added[0].add, station_flows(remote("a"), 0, kTunnel));

  const auto moved = plan_flows(desire({remote("a", "192.0.2.3")}), kA, carried({remote("a")}), 1);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_TRUE(moved[0].remove);
  EXPECT_FALSE(moved[0].add.empty());

  const auto removed = plan_flows({}, kA, carried({remote("a")}), kTunnel);
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_TRUE(removed[0].remove);
  EXPECT_TRUE(removed[0].add.empty());

  // A restarted switch may number its ports otherwise: everything that names them is made anew.
  Observed renumbered = carried({local("a")});
  renumbered.ports["a"].number = 9;
  EXPECT_EQ(plan_flows(desire({local("a")}), kA, renumbered, kTunnel).size(), 1u);
  EXPECT_EQ(plan_flows(desire({remote("a")}), kA, carried({remote("a")}), kTunnel + 1).size(), 1u);
  EXPECT_TRUE(plan_base_flows(carried({}), kTunnel + 1).has_value());
  // Without a number nothing can be said, and what is there stays.
  renumbered.ports["a"].number = 0;
  EXPECT_TRUE(plan_flows(desire({local("a")}), kA, renumbered, kTunnel).empty());
  EXPECT_FALSE(is_complete(local("a"), renumbered, kTunnel));
}

// A new station's flows name the number that was asked for, until the switch has said which it
// gave.
TEST(OvsPlan, FlowsGoAheadOfPorts) {
  const Desired desired = desire({local("a"), local("b")});
  const std::vector<std::string> ids = {"a", "b"};
  Observed observed = carried({local("b")});
  observed.ports["b"].number = 9;  // its flows are to change, so they wait for the others
  observed.asked["a"] = 40000;
  const auto first = plan_new_flows(desired, ids, observed, kTunnel);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].id, "a");
  EXPECT_EQ(first[0].add, station_flows(local("a"), 40000, kTunnel));
  EXPECT_FALSE(is_complete(local("a"), observed, kTunnel));

  observed.flows[cookie_of("a")] = fingerprint(first[0].add);
  observed.ports["a"] = {host_interface_name(local("a").interface), local("a"), 0, "", 0, ""};
  EXPECT_TRUE(plan_flows(desired, kA, observed, kTunnel).empty());
  observed.ports["a"].number = 40000;
  EXPECT_TRUE(plan_flows(desired, kA, observed, kTunnel).empty());
  // It gave another.
  observed.ports["a"].number = 5;
  const auto again = plan_flows(desired, kA, observed, kTunnel);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].remove);
  EXPECT_EQ(again[0].add, station_flows(local("a"), 5, kTunnel));
  // It cannot use the interface.
  observed.ports["a"].number = -1;
  EXPECT_TRUE(plan_flows(desired, kA, observed, kTunnel).empty());
}

// Numbers are asked for that nobody has, asked for or is spoken of under; and the last ones again
// last.
TEST(OvsPlan, Numbers) {
  const std::vector<std::string> ids = {"a", "b", "c", "d"};
  Observed observed;
  observed.numbers["tunnel"] = {.given = 1, .asked = 0};
  observed.numbers["somebody's"] = {.given = 32769, .asked = 32770};
  observed.named = {32771};
  observed.asked = {{"x", 32773}, {"b", 32774}};
  const NumberPlan plan = plan_numbers(ids, observed);
  EXPECT_EQ(plan.asked, (decltype(plan.asked){{"a", 32768}, {"c", 32772}, {"d", 32775}}));
  EXPECT_EQ(plan.last_asked, 32775);

  observed.last_asked = 65279;  // the end: from the beginning again
  EXPECT_EQ(plan_numbers(kA, observed).asked.at("a"), 32768);
  observed.last_asked = 32768;
  EXPECT_EQ(plan_numbers(kA, observed).asked.at("a"), 32772);
  EXPECT_EQ(plan_numbers({}, observed).last_asked, 32768);
  // None is left: the switch chooses.
  for (std::int64_t number = 32768; number < 65280; ++number) observed.named.insert(number);
  EXPECT_TRUE(plan_numbers(kA, observed).asked.empty());
}

// An interface that somebody gave another MTU keeps its port and gets ours back.
TEST(OvsPlan, Mtu) {
  Observed observed = carried({local("a")});
  observed.misfits.insert(host_interface_name(local("a").interface));
  EXPECT_EQ(plan_ports(desire({local("a")}), kA, observed), (PortPlan{.resize = {"a"}}));
  EXPECT_FALSE(is_complete(local("a"), observed, kTunnel));
  EXPECT_EQ(plan_ports({}, kA, observed), (PortPlan{.remove = {"a"}}));
}

// Flows of nobody go; those of a port that is still there are left to its own removal.
TEST(OvsPlan, StrayFlows) {
  Observed observed = carried({local("a"), remote("b"), remote("c")});
  observed.flows[0] = 4711;  // somebody's
  const auto stray = plan_stray_flows(desire({remote("b")}), observed);
  ASSERT_EQ(stray.size(), 2u);
  EXPECT_EQ(stray[0], (FlowChange{"", 0, true, {}}));
  EXPECT_EQ(stray[1], (FlowChange{"", cookie_of("c"), true, {}}));
}

// What stands beside a port tells a later process all of a station; damaged records tell nothing.
TEST(OvsPlan, Records) {
  const Station station = local("a");
  const auto record = encode_record(station, "fairlead");
  EXPECT_EQ(decode_record(record), station);
  for (const auto& [key, value] : record) {
    if (key == kRecordBridge) continue;
    auto damaged = record;
    damaged[key] = key == kRecordId || key == "fairlead-interface" ? "" : "x";
    EXPECT_EQ(decode_record(damaged), std::nullopt) << key;
  }
}

FlowChange adding(const std::string& id, std::size_t flows) {
  return {id, cookie_of(id), false, std::vector<wire::openflow::Flow>(flows)};
}

// What a switch reads in one go stays one bundle; nothing is no bundle.
TEST(SharedFlows, FewStayTogether) {
  EXPECT_TRUE(share_flows({}, 8).empty());
  const std::vector<FlowChange> few = {adding("a", 5), {"b", cookie_of("b"), true, {}}};
  const auto shares = share_flows(few, 8);
  ASSERT_EQ(shares.size(), 1);
  EXPECT_EQ(shares[0], few);
}

// Many are spread evenly, over no more parts than allowed, each station whole and none twice.
TEST(SharedFlows, ManyAreSpreadByStation) {
  std::vector<FlowChange> many;
  for (int i = 0; i < 100; ++i) many.push_back(adding(std::to_string(i), 5));
  EXPECT_EQ(share_flows(many, 64).size(), 10);  // of 50 messages each
  const auto shares = share_flows(many, 4);
  ASSERT_EQ(shares.size(), 4);
  std::set<std::string> seen;
  for (const auto& share : shares) {
    EXPECT_EQ(share.size(), 25);
    for (const FlowChange& change : share) {
      EXPECT_EQ(change.add.size(), 5);
      EXPECT_TRUE(seen.insert(change.id).second);
    }
  }
  EXPECT_EQ(seen.size(), 100);
}

// Two stations that swap an address are never seen half-swapped.
TEST(SharedFlows, AlteredStationsChangeAtOnce) {
  std::vector<FlowChange> changes;
  for (int i = 0; i < 40; ++i) {
    changes.push_back(adding("new" + std::to_string(i), 5));
    changes.push_back(adding("altered" + std::to_string(i), 5));
    changes.back().remove = true;
    changes.push_back({"gone", cookie_of("gone"), true, {}});
  }
  const auto shares = share_flows(changes, 4);
  ASSERT_EQ(shares.size(), 4);
  std::size_t total = 0;
  for (std::size_t at = 0; at < shares.size(); ++at) {
    total += shares[at].size();
    const auto altered = std::ranges::count_if(
        shares[at], [](const FlowChange& change) { return change.id.starts_with("altered"); });
    EXPECT_EQ(altered, at == 0 ? 40 : 0);
  }
  EXPECT_EQ(total, changes.size());
}

}  // namespace
}  // namespace fairlead::fabric::ovs
