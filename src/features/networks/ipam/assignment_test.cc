// What decide() gives one attachment, as a table: what is locked, what is asked for, what comes of
// it.
#include "features/networks/ipam/assignment.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sstream>

#include "features/networks/ipam/mac.h"
#include "features/networks/kinds/ip_lock.h"

namespace fairlead::ipam {
namespace {

// The subnets of every row. Blocks of four addresses are used whole, and the random bits are 0: the
// first free address is the one that is picked.
//
//   four      network 7   10.0.0.4/30
//   six       network 8                fd00::4/126
//   both      network 9   10.0.0.4/30  fd00::4/126
//   rejected  network 7   10.0.0.0/24, which overlaps with four's
struct Subnet {
  const char* name;
  Vni vni;
  const char *ipv4, *ipv6, *error;
};
constexpr Subnet kSubnets[] = {
    {"four", 7, "10.0.0.4/30", "", ""},
    {"six", 8, "", "fd00::4/126", ""},
    {"both", 9, "10.0.0.4/30", "fd00::4/126", ""},
    {"rejected", 7, "10.0.0.0/24", "", "CIDR overlaps with ns/four's (10.0.0.4/30)"},
};
constexpr Vni kElsewhere = 99;

std::optional<Cidr> block(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(*Cidr::parse(text));
}

Vni vni_of(std::string_view subnet) {
  for (const Subnet& known : kSubnets)
    if (known.name == subnet) return known.vni;
  return 7;
}

// What attachment ns/a asks for, and what it has.
struct Asks {
  const char* subnet = "four";
  const char *fixed_ipv4 = "", *fixed_ipv6 = "";
  const char *has_ipv4 = "", *has_ipv6 = "";
  Vni has_in = 0;  // 0: in the network of its subnet

  AttachmentFacts facts() const {
    const bool has = *has_ipv4 || *has_ipv6;
    return {.namespace_name = "ns",
            .name = "a",
            .uid = "uid-of-ns/a",
            .node = "n1",
            .subnet = subnet,
            .fixed_ipv4 = fixed_ipv4,
            .fixed_ipv6 = fixed_ipv6,
            .ipv4 = has_ipv4,
            .ipv6 = has_ipv6,
            .vni = !has          ? 0
                   : has_in != 0 ? has_in
                                 : vni_of(subnet)};
  }
};

class World {
 public:
  // `taken`: "IP of NAMESPACE/ATTACHMENT [idle|released|elsewhere]" or "IP reserved", separated by
  // commas; locks are as old as their place in it.
  World(std::string_view taken, Vni vni) {
    for (const Subnet& subnet : kSubnets) add(subnet);
    std::stringstream entries{std::string(taken)};
    for (std::string entry; std::getline(entries, entry, ',');) add(entry, vni);
  }
  Assignment decide_on(const AttachmentFacts& attachment, bool node_known = true) const {
    return decide(records, attachment, node_known, [] { return 0; });
  }

  NetworkRecords records;

 private:
  void add(const Subnet& subnet) {
    SubnetFacts facts;
    facts.namespace_name = "ns";
    facts.name = subnet.name;
    facts.vni = subnet.vni;
    facts.ipv4 = block(subnet.ipv4);
    facts.ipv6 = block(subnet.ipv6);
    facts.validated = !*subnet.error;
    if (*subnet.error) facts.errors = {subnet.error};
    const std::string key = facts.key();
    records.set_subnet(key, std::move(facts));
  }
  void add(const std::string& entry, Vni vni) {
    std::stringstream words(entry);
    std::string address, what, owner, state;
    words >> address >> what >> owner >> state;
    const Ip ip = *Ip::parse(address);
    if (what == "reserved") return records.reserve(vni, ip);
    LockFacts lock;
    lock.vni = state == "elsewhere" ? kElsewhere : vni;
    lock.ip = ip;
    lock.namespace_name = owner.substr(0, owner.find('/'));
    lock.owner_name = owner.substr(owner.find('/') + 1);
    lock.owner = "uid-of-" + owner;
    lock.name = networks::ip_lock_name(lock.vni, ip);
    lock.uid = "lock-" + address;
    lock.place = {++revision_, 0};
    lock.idle = state == "idle";
    lock.deleting = state == "released";
    if (lock.deleting) lock.awaits = {"n1"};
    const std::string key = lock.key();
    records.set_lock(key, std::move(lock));
  }

  store::Revision revision_ = 0;
};

std::string addresses_of(const World& world, const std::vector<std::string>& locks) {
  std::string all;
  for (const std::string& key : locks)
    all += " " + world.records.ledger().lock(key)->ip.to_string();
  return all;
}

// The assignment in words.
std::string told(const World& world, const Assignment& assignment) {
  std::string text;
  for (const auto* part : {&assignment.ipv4, &assignment.ipv6}) {
    if (!*part) continue;
    EXPECT_EQ((*part)->fresh, (*part)->lock_uid.empty());
    text += text.empty() ? "" : " and ";
    text += (*part)->ip.to_string() + ((*part)->fresh ? " new" : " by its lock");
  }
  EXPECT_EQ(assignment.vni != 0, !text.empty());
  if (text.empty()) text = "nothing";
  for (const std::string& error : assignment.errors) text += "; " + error;
  if (assignment.exhausted) text += "; waits for any";
  for (const Ip& ip : assignment.wanted) text += "; waits for " + ip.to_string();
  if (!assignment.idle_locks.empty())
    text += "; uses again" + addresses_of(world, assignment.idle_locks);
  if (!assignment.unused_locks.empty())
    text += "; lets go" + addresses_of(world, assignment.unused_locks);
  return text;
}

struct Row {
  const char* story;
  const char* taken;
  Asks asks;
  const char* gets;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.story);
    const World world(row.taken, vni_of(row.asks.subnet));
    EXPECT_EQ(told(world, world.decide_on(row.asks.facts())), row.gets);
  }
}

// Who asks for no address in particular.
TEST(Decide, AnyAddress) {
  check({
      {"a free one", "", {}, "10.0.0.4 new"},
      {"locked: not free", "10.0.0.4 of ns/b", {}, "10.0.0.5 new"},
      {"locked from another namespace: not free", "10.0.0.4 of other/b", {}, "10.0.0.5 new"},
      {"in quarantine: not free", "10.0.0.4 of ns/b released", {}, "10.0.0.5 new"},
      {"idle: not free", "10.0.0.4 of ns/b idle", {}, "10.0.0.5 new"},
      {"reserved: not free", "10.0.0.4 reserved", {}, "10.0.0.5 new"},
      {"locked in another network: free", "10.0.0.4 of ns/b elsewhere", {}, "10.0.0.4 new"},
      {"the last one", "10.0.0.4 of ns/b,10.0.0.5 of ns/c,10.0.0.7 of ns/d", {}, "10.0.0.6 new"},
      {"none left",
       "10.0.0.4 of ns/b,10.0.0.5 of ns/c released,10.0.0.6 reserved,10.0.0.7 of ns/d idle",
       {},
       "nothing; no IPv4 address available in subnet ns/four (10.0.0.4/30); waits for any"},
      {"IPv6", "fd00::4 of ns/b", {.subnet = "six"}, "fd00::5 new"},
      {"one of each family",
       "10.0.0.4 of ns/b",
       {.subnet = "both"},
       "10.0.0.5 new and fd00::4 new"},
      {"nothing if one family is full",
       "fd00::4 of ns/b,fd00::5 of ns/c,fd00::6 of ns/d,fd00::7 of ns/e",
       {.subnet = "both"},
       "nothing; no IPv6 address available in subnet ns/both (fd00::4/126); waits for any"},
  });
}

// Who has an address, or a lock, stays with it as long as the subnet can give it.
TEST(Decide, WhatItHasItKeeps) {
  check({
      {"its address", "10.0.0.6 of ns/a", {.has_ipv4 = "10.0.0.6"}, "10.0.0.6 by its lock"},
      {"its address, whose lock was lost", "", {.has_ipv4 = "10.0.0.6"}, "10.0.0.6 new"},
      {"not if somebody else locked it since",
       "10.0.0.6 of ns/b",
       {.has_ipv4 = "10.0.0.6"},
       "10.0.0.4 new"},
      {"not if the subnet has another block now",
       "10.0.9.6 of ns/a",
       {.has_ipv4 = "10.0.9.6"},
       "10.0.0.4 new; lets go 10.0.9.6"},
      {"not if the subnet is in another network now",
       "10.0.0.6 of ns/a elsewhere",
       {.has_ipv4 = "10.0.0.6", .has_in = kElsewhere},
       "10.0.0.4 new; lets go 10.0.0.6"},
      {"its lock, though its status does not say so",
       "10.0.0.6 of ns/a",
       {},
       "10.0.0.6 by its lock"},
      {"its idle lock, once the subnet is back",
       "10.0.0.6 of ns/a idle",
       {},
       "10.0.0.6 by its lock; uses again 10.0.0.6"},
      {"its older lock of two",
       "10.0.0.7 of ns/a,10.0.0.5 of ns/a",
       {},
       "10.0.0.7 by its lock; lets go 10.0.0.5"},
      {"the one in its status before the older",
       "10.0.0.7 of ns/a,10.0.0.5 of ns/a",
       {.has_ipv4 = "10.0.0.5"},
       "10.0.0.5 by its lock; lets go 10.0.0.7"},
      {"no lock that it has released", "10.0.0.6 of ns/a released", {}, "10.0.0.4 new"},
      {"no lock of an attachment of its name before it", "10.0.0.6 of old/a", {}, "10.0.0.4 new"},
      {"one family, and gets the other",
       "10.0.0.6 of ns/a",
       {.subnet = "both", .has_ipv4 = "10.0.0.6"},
       "10.0.0.6 by its lock and fd00::4 new"},
      {"nothing of a family that the subnet has no more",
       "10.0.0.6 of ns/a,fd00::6 of ns/a",
       {.has_ipv4 = "10.0.0.6", .has_ipv6 = "fd00::6"},
       "10.0.0.6 by its lock; lets go fd00::6"},
  });
}

// Who asks for a certain address gets that or none, and hears why.
TEST(Decide, FixedAddresses) {
  check({
      {"free", "", {.fixed_ipv4 = "10.0.0.6"}, "10.0.0.6 new"},
      {"locked by itself", "10.0.0.6 of ns/a", {.fixed_ipv4 = "10.0.0.6"}, "10.0.0.6 by its lock"},
      {"other than what it has",
       "10.0.0.5 of ns/a",
       {.fixed_ipv4 = "10.0.0.6", .has_ipv4 = "10.0.0.5"},
       "10.0.0.6 new; lets go 10.0.0.5"},
      {"locked by another",
       "10.0.0.6 of ns/b",
       {.fixed_ipv4 = "10.0.0.6"},
       "nothing; 10.0.0.6 is taken by attachment b; waits for 10.0.0.6"},
      {"locked by one of another namespace, whose name is not told",
       "10.0.0.6 of other/b",
       {.fixed_ipv4 = "10.0.0.6"},
       "nothing; 10.0.0.6 is taken by another attachment; waits for 10.0.0.6"},
      {"reserved",
       "10.0.0.6 reserved",
       {.fixed_ipv4 = "10.0.0.6"},
       "nothing; 10.0.0.6 is taken by another attachment; waits for 10.0.0.6"},
      {"in quarantine",
       "10.0.0.6 of ns/b released",
       {.fixed_ipv4 = "10.0.0.6"},
       "nothing; 10.0.0.6 is not free yet: it was released a moment ago; waits for 10.0.0.6"},
      {"taken: lets go what it had",
       "10.0.0.5 of ns/a,10.0.0.6 of ns/b",
       {.fixed_ipv4 = "10.0.0.6", .has_ipv4 = "10.0.0.5"},
       "nothing; 10.0.0.6 is taken by attachment b; waits for 10.0.0.6; lets go 10.0.0.5"},
      {"outside the block",
       "",
       {.fixed_ipv4 = "10.0.0.8"},
       "nothing; 10.0.0.8 is not an address that subnet four (10.0.0.4/30) can give"},
      {"no address",
       "",
       {.fixed_ipv4 = "10.0.0"},
       "nothing; 10.0.0 is not an address that subnet four (10.0.0.4/30) can give"},
      {"of a family that the subnet does not have",
       "",
       {.fixed_ipv6 = "fd00::6"},
       "nothing; fd00::6 cannot be given: subnet four has no IPv6 block"},
      {"of one family, any of the other",
       "",
       {.subnet = "both", .fixed_ipv6 = "fd00::6"},
       "10.0.0.4 new and fd00::6 new"},
      {"of both, one taken: nothing",
       "10.0.0.6 of ns/b",
       {.subnet = "both", .fixed_ipv4 = "10.0.0.6", .fixed_ipv6 = "fd00::6"},
       "nothing; 10.0.0.6 is taken by attachment b; waits for 10.0.0.6"},
  });
}

// Without a valid subnet it has no address, but keeps its locks: the subnet may come back.
TEST(Decide, WithoutASubnet) {
  check({
      {"none of that name",
       "10.0.0.6 of ns/a",
       {.subnet = "missing", .has_ipv4 = "10.0.0.6"},
       "nothing; Subnet missing does not exist"},
      {"one that is not validated",
       "10.0.0.6 of ns/a",
       {.subnet = "rejected", .has_ipv4 = "10.0.0.6"},
       "nothing; Subnet rejected has not passed validation: CIDR overlaps with ns/four's "
       "(10.0.0.4/30)"},
  });
}

// The MAC goes with the IPv4 address. With an IPv6 address alone it is hashed: another attempt if
// it is taken, unless by the attachment itself.
TEST(Decide, Macs) {
  const Ip six = *Ip::parse("fd00::4");
  World world("", 8);
  EXPECT_EQ(world.decide_on(Asks{}.facts()).mac, mac_for_ipv4(*Ip::parse("10.0.0.4")));
  EXPECT_EQ(world.decide_on(Asks{.subnet = "both"}.facts()).mac,
            mac_for_ipv4(*Ip::parse("10.0.0.4")));
  EXPECT_EQ(world.decide_on(Asks{.subnet = "six"}.facts()).mac, mac_for_ipv6(six, 0));

  AttachmentFacts rival = Asks{.subnet = "six", .has_ipv6 = "fd00::7"}.facts();
  world.records.set_attachment("ns/rival", rival, mac_for_ipv6(six, 0));
  EXPECT_EQ(world.decide_on(Asks{.subnet = "six"}.facts()).mac, mac_for_ipv6(six, 1));
  EXPECT_EQ(world.decide_on(Asks{.subnet = "six", .has_ipv6 = "fd00::4"}.facts()).mac,
            mac_for_ipv6(six, 0));
  world.records.set_attachment("ns/rival", std::nullopt);
  EXPECT_EQ(world.decide_on(Asks{.subnet = "six"}.facts()).mac, mac_for_ipv6(six, 0));
}

// Deciding takes nothing: who wants to have the address to itself reserves it, and it is free again
// once it is given back or its last lock is gone.
TEST(Decide, ReservesNothing) {
  World world("", 7);
  const Ip first = *Ip::parse("10.0.0.4");
  const auto next = [&] { return world.decide_on(Asks{}.facts()).ipv4->ip.to_string(); };
  EXPECT_EQ(next(), "10.0.0.4");
  EXPECT_EQ(next(), "10.0.0.4");
  world.records.reserve(7, first);
  EXPECT_EQ(next(), "10.0.0.5");
  world.records.give_back(7, first);
  EXPECT_EQ(next(), "10.0.0.4");

  World locked("10.0.0.4 of ns/b", 7);
  locked.records.give_back(7, first);  // its lock was seen meanwhile
  EXPECT_EQ(locked.decide_on(Asks{}.facts()).ipv4->ip.to_string(), "10.0.0.5");
  locked.records.set_lock("ns/" + networks::ip_lock_name(7, first), std::nullopt);
  EXPECT_EQ(locked.decide_on(Asks{}.facts()).ipv4->ip, first);
}

// Whether its node is known matters only to an attachment that has addresses.
TEST(Decide, UnknownNodes) {
  const World world("", 7);
  EXPECT_TRUE(world.decide_on(Asks{}.facts(), true).node_known);
  EXPECT_FALSE(world.decide_on(Asks{}.facts(), false).node_known);
  EXPECT_TRUE(world.decide_on(Asks{.subnet = "missing"}.facts(), false).node_known);
}

}  // namespace
}  // namespace fairlead::ipam
