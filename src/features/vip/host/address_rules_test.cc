#include "features/vip/host/address_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = AddressChange::Kind;

const Ip kVip4 = *Ip::parse("192.0.2.75");
const Ip kVip6 = *Ip::parse("2001:db8::75");

// Builds a host: links by name, addresses by text.
struct Host {
  HostState state;
  Host& link(const char* name, HostLink facts = {.ethernet = true, .up = true, .carrier = true}) {
    facts.name = name;
    facts.ifindex = static_cast<std::uint32_t>(state.links.size() + 1);
    state.links[facts.ifindex] = facts;
    return *this;
  }
  Host& address(const char* interface, const char* text, int prefix, std::uint8_t protocol = 0) {
    const Ip ip = *Ip::parse(text);
    state.addresses[at(interface, text, prefix)] = {.on_link = Cidr(ip, prefix),
                                                    .protocol = protocol};
    return *this;
  }
  HostAddress at(const char* interface, const char* text, int prefix) const {
    return {state.find(interface)->ifindex, *Ip::parse(text), prefix};
  }
};

Host usual() {
  return Host()
      .link("lo", {.loopback = true, .up = true, .carrier = true})
      .link("eth0")
      .address("eth0", "192.0.2.1", 24)
      .address("eth0", "2001:db8::1", 64);
}

std::string problem(const Host& host, const Ip& vip, const char* interface, bool routed = false) {
  const Result<> usable = check_usable(host.state, vip, interface, routed);
  return usable ? "" : usable.error().message;
}

// What is missing is named.
TEST(Usable, NamesWhatIsMissing) {
  EXPECT_EQ(problem(usual(), kVip4, "eth0"), "");
  EXPECT_EQ(problem(usual(), kVip6, "eth0"), "");
  EXPECT_EQ(problem(usual(), kVip4, "eth7"), "there is no interface eth7");
  EXPECT_THAT(problem(usual(), kVip4, "lo"), HasSubstr("lo is not Ethernet"));
  struct Case {
    HostLink link;
    const char* problem;
  };
  for (const Case& one : {Case{{.up = true, .carrier = true}, "is not Ethernet"},
                          Case{{.ethernet = true}, "eth0 is down"},
                          Case{{.ethernet = true, .up = true}, "eth0 has no carrier"},
                          Case{{.ethernet = true, .up = true, .carrier = true, .port_of = "bridge"},
                               "eth0 is part of a bridge"}})
    EXPECT_THAT(
        problem(Host().link("eth0", one.link).address("eth0", "192.0.2.1", 24), kVip4, "eth0"),
        HasSubstr(one.problem));
}

// On-link by a network of that very interface, or by a route; an address alone has no network.
TEST(Usable, OnLink) {
  const char* kNot = "192.0.2.75 is not on-link at eth1, which has these addresses: ";
  EXPECT_EQ(problem(usual().link("eth1"), kVip4, "eth1"), std::string(kNot) + "none");
  EXPECT_EQ(problem(usual().link("eth1"), kVip4, "eth1", true), "");
  EXPECT_EQ(problem(usual()
                        .link("eth1")
                        .address("eth1", "198.51.100.1", 24)
                        .address("eth1", "2001:db8::2", 64),
                    kVip4, "eth1"),
            std::string(kNot) + "198.51.100.1/24");
  EXPECT_EQ(
      problem(usual()
                  .link("vrf1", {.ethernet = true, .up = true, .carrier = true, .port_of = "vrf"})
                  .address("vrf1", "192.0.2.9", 24),
              kVip4, "vrf1"),
      "");
}

// Our own address of the VIP does not make it on-link, and is no obstacle; somebody else's is one.
TEST(Usable, WhoseAddress) {
  EXPECT_EQ(problem(usual().address("eth0", "192.0.2.75", 32, kAddressProtocol), kVip4, "eth0"),
            "");
  EXPECT_THAT(problem(Host().link("eth0").address("eth0", "192.0.2.75", 32, kAddressProtocol),
                      kVip4, "eth0"),
              HasSubstr("not on-link"));
  EXPECT_EQ(problem(usual().address("eth0", "192.0.2.75", 24), kVip4, "eth0"),
            "192.0.2.75 is an address of this host, added by somebody else: 192.0.2.75/24 on eth0");
  EXPECT_THAT(problem(usual().link("eth1").address("eth1", "192.0.2.75", 32), kVip4, "eth0"),
              HasSubstr("192.0.2.75/32 on eth1"));
}

// Added once, where it is wanted and the interface is up; with what an earlier process left behind.
TEST(Plan, AddsAndRemoves) {
  const std::map<Ip, std::string> wanted{{kVip4, "eth0"}};
  Host host = usual();
  EXPECT_THAT(plan_addresses(host.state, wanted),
              ElementsAre(AddressChange{Kind::add, host.at("eth0", "192.0.2.75", 32)}));
  host.address("eth0", "192.0.2.75", 32, kAddressProtocol);
  EXPECT_THAT(plan_addresses(host.state, wanted), ElementsAre());
  EXPECT_THAT(plan_addresses(host.state, {}),
              ElementsAre(AddressChange{Kind::remove, host.at("eth0", "192.0.2.75", 32)}));
  host.address("eth0", "2001:db8::75", 128, kAddressProtocol);
  EXPECT_THAT(plan_addresses(host.state, wanted),
              ElementsAre(AddressChange{Kind::remove, host.at("eth0", "2001:db8::75", 128)}));
}

// On another interface than wanted: moved. The interface is not up or not there: nothing is added.
TEST(Plan, FollowsTheInterface) {
  const std::map<Ip, std::string> wanted{{kVip6, "eth1"}};
  EXPECT_THAT(plan_addresses(usual().state, wanted), ElementsAre());
  EXPECT_THAT(plan_addresses(usual().link("eth1", {.ethernet = true}).state, wanted),
              ElementsAre());
  const Host host = usual().link("eth1").address("eth0", "2001:db8::75", 128, kAddressProtocol);
  EXPECT_THAT(plan_addresses(host.state, wanted),
              ElementsAre(AddressChange{Kind::remove, host.at("eth0", "2001:db8::75", 128)},
                          AddressChange{Kind::add, host.at("eth1", "2001:db8::75", 128)}));
}

// Addresses of others are never touched, nor doubled.
TEST(Plan, LeavesOthersAlone) {
  const Host host = usual().address("eth0", "192.0.2.75", 32);
  EXPECT_THAT(plan_addresses(host.state, {{kVip4, "eth0"}}), ElementsAre());
  EXPECT_THAT(plan_addresses(host.state, {}), ElementsAre());
}

// Whoever may reach this host comes by one of these.
TEST(ClientInterfaces, AllThatAreUpAndWhole) {
  const Host host = usual()
                        .link("br0")
                        .link("port1", {.ethernet = true, .up = true, .port_of = "bridge"})
                        .link("down0", {.ethernet = true})
                        .link("wg0", {.up = true})
                        .link("red0", {.ethernet = true, .up = true, .port_of = "vrf"});
  EXPECT_THAT(client_interfaces(host.state), ElementsAre("eth0", "br0", "wg0", "red0"));
}

}  // namespace
}  // namespace fairlead::vip
