// `announce`, `anycast` and `bgp` in the agent's file: what they become, and what is refused.
#include "features/vip/config/bgp_check.h"

#include <gtest/gtest.h>

#include "features/vip/config/test_vip_file.h"

namespace fairlead::vip {
namespace {

// A file with these virtual IPs and this `bgp`.
std::string file(const std::string& vip, const std::string& bgp) {
  return "election: {listen: '10.0.0.1:1'}\nvirtualIPs:\n- {" + vip + "}\n" +
         (bgp.empty() ? "" : "bgp: {" + bgp + "}\n");
}
constexpr const char* kVip = "address: 192.0.2.1, announce: bgp";
constexpr const char* kBgp = "as: 65010, neighbors: [{address: 10.0.0.254, as: 65000}]";

// The defaults are those of a router on-link with BFD.
TEST(BgpConfig, Small) {
  const Result<VipPlan> plan = plan_of(file(kVip, kBgp));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->bgp);
  EXPECT_EQ(plan->bgp->router_id.to_string(), "10.0.0.1");
  EXPECT_EQ(plan->bgp->bird, "/usr/sbin/bird");
  ASSERT_EQ(plan->bgp->neighbors.size(), 1U);
  EXPECT_TRUE(plan->bgp->neighbors[0].bfd);
  EXPECT_EQ(plan->bgp->neighbors[0].multihop, 0);
  EXPECT_EQ(plan->vips[0].announce, Announce::bgp);
  EXPECT_EQ(plan->vips[0].vip.interface, "lo");
  EXPECT_TRUE(plan->vips[0].elected());
}

// Every field arrives.
TEST(BgpConfig, EveryField) {
  const Result<VipPlan> plan = plan_of(
      file("address: '2001:db8::1', announce: bgp, anycast: true, interface: vips0", R"(as: 65010,
  routerId: 10.9.9.9, holdTime: 30s, keepaliveTime: 10s, connectRetryTime: 7s, bfdInterval: 50ms,
  bfdMultiplier: 5, bird: /opt/bird, neighbors: [{address: 'fd00::fe', as: 4200000000,
  passwordFile: /p, sourceAddress: 'fd00::1', multihop: 3, bfd: false}])"));
  ASSERT_TRUE(plan) << plan.error().message;
  const BgpConfig expected{.as = 65010,
                           .router_id = *Ip::parse("10.9.9.9"),
                           .neighbors = {{.address = *Ip::parse("fd00::fe"),
                                          .as = 4'200'000'000,
                                          .password_file = "/p",
                                          .source = *Ip::parse("fd00::1"),
                                          .multihop = 3,
                                          .bfd = false}},
                           .hold = 30s,
                           .keepalive = 10s,
                           .connect_retry = 7s,
                           .bfd_interval = 50ms,
                           .bfd_multiplier = 5,
                           .bird = "/opt/bird"};
  EXPECT_EQ(plan->bgp, expected);
  EXPECT_TRUE(plan->vips[0].anycast);
  EXPECT_FALSE(plan->vips[0].elected());
  EXPECT_EQ(plan->vips[0].vip.interface, "vips0");
}

// Without `bgp` for the modes that need none.
TEST(BgpConfig, RouteAndExternal) {
  const Result<VipPlan> route = plan_of(file("address: 192.0.2.1, announce: route", ""));
  ASSERT_TRUE(route) << route.error().message;
  EXPECT_EQ(route->vips[0].announce, Announce::route);
  EXPECT_FALSE(route->bgp);
  const Result<VipPlan> external =
      plan_of(file("address: 192.0.2.1, announce: external, health: [{tcp: '192.0.2.1:80'}]", ""));
  ASSERT_TRUE(external) << external.error().message;
  EXPECT_FALSE(external->vips[0].elected());
}

// All of these are refused, with the field's place.
TEST(BgpConfig, Refuses) {
  const auto bgp = [](const std::string& fields) { return file(kVip, fields); };
  const auto neighbor = [](const std::string& fields) {
    return file(kVip, "as: 65010, neighbors: [{" + fields + "}]");
  };
  const auto more = [](const std::string& fields) {
    return file(kVip, std::string(kBgp) + ", " + fields);
  };
  const std::vector<std::pair<std::string, std::string>> rows{
      {file(kVip, ""), "bgp: must be given"},
      {bgp("neighbors: [{address: 10.0.0.254, as: 1}]"), "bgp.as: must be given"},
      {bgp("as: 65010"), "bgp.neighbors: must be given"},
      {bgp("as: 65010, neighbors: []"), "bgp.neighbors: must be given"},
      {bgp("as: 4294967295, neighbors: []"), "bgp.as: "},
      {more("colour: red"), "bgp.colour: there is no such field"},
      {more("routerId: fd00::1"), "bgp.routerId: must be an IPv4 address"},
      {more("routerId: 192.0.2.1"), "bgp.routerId: is one of the virtual IPs"},
      {more("holdTime: 2s"), "bgp.holdTime: must be 3s to"},
      {more("holdTime: 3500ms, keepaliveTime: 1s"), "bgp.holdTime: must be a multiple of 1s"},
      {more("keepaliveTime: 4s"), "bgp.keepaliveTime: must be at most a third of holdTime, 9s"},
      {more("bfdInterval: 1ms"), "bgp.bfdInterval: must be 10ms to"},
      {more("bird: bird"), "bgp.bird: must be the absolute path of a program"},
      {neighbor("address: 10.0.0.254"), "bgp.neighbors[0].as: must be given"},
      {neighbor("address: router, as: 1"), "bgp.neighbors[0].address: must be an address"},
      {neighbor("address: 224.0.0.1, as: 1"), "bgp.neighbors[0].address: "},
      {neighbor("address: 192.0.2.1, as: 1"), "bgp.neighbors[0].address: is one of the virtual"},
      {neighbor("address: 10.0.0.254, as: 1, passwordFile: p"),
       "bgp.neighbors[0].passwordFile: must be an absolute path"},
      {neighbor("address: 10.0.0.254, as: 1, sourceAddress: 'fd00::1'"),
       "bgp.neighbors[0].sourceAddress: must be of the same IP version"},
      {neighbor("address: 10.0.0.254, as: 1}, {address: 10.0.0.254, as: 2"),
       "bgp.neighbors[1].address: is the address of another neighbor, too"},
      {neighbor("address: 'fd00::fe', as: 1"),
       "virtualIPs[0].announce: needs a neighbor with an IPv4 address"},
      // --- virtual IPs
      {file("address: 192.0.2.1, announce: ospf", ""), "virtualIPs[0].announce: Unsupported value"},
      {file("address: 192.0.2.1, interface: e, anycast: true", ""),
       "virtualIPs[0].anycast: needs routers"},
      {file("address: 192.0.2.1, interface: lo", ""),
       "virtualIPs[0].interface: must not be the lo"},
      {file("address: 192.0.2.1, announce: route, interface: 'a\"b'", ""),
       "virtualIPs[0].interface: is not the name of an interface"},
      {file("address: 192.0.2.1, announce: external", ""), "virtualIPs[0].health: must be given"},
      {file("address: 192.0.2.1, announce: external, interface: e, health: [{tcp: 'h:1'}]", ""),
       "virtualIPs[0].interface: must not be given with announce: external"},
      {file("address: 192.0.2.1, announce: route, anycast: true, group: g", ""),
       "virtualIPs[0].group: means nothing with anycast"},
      {file("address: 192.0.2.1, announce: route, anycast: true, notify: [/bin/true]", ""),
       "virtualIPs[0].notify: means nothing with anycast"},
  };
  for (const auto& [text, said] : rows) {
    const std::string problem = problem_of(text);
    EXPECT_TRUE(problem.starts_with("f:") && problem.contains(": " + said))
        << text << "gave: " << problem << "\nnot: " << said;
  }
}

}  // namespace
}  // namespace fairlead::vip
