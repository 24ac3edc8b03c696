// What BIRD is told, by BIRD's own words; and that nothing of the file can say more than it means.
#include "features/vip/routes/bird_config.h"

#include <gtest/gtest.h>

#include "features/vip/routes/routes.h"

namespace fairlead::vip {
namespace {

Ip ip(const char* text) { return *Ip::parse(text); }

BirdPlan plan() {
  BirdPlan plan;
  plan.bgp = {.as = 65010, .router_id = ip("10.0.0.1")};
  plan.bgp.neighbors.push_back({.address = ip("10.0.0.254"), .as = 65000, .password_file = {}});
  plan.vips = {ip("192.0.2.10"), ip("2001:db8::10")};
  plan.interfaces = {"lo"};
  return plan;
}

// The whole of a small one, as `bird -p` takes it.
TEST(BirdConfig, Whole) {
  EXPECT_EQ(bird_config(plan()), R"(# Written by fairlead agent: changes are lost.
log stderr { info, remote, warning, error, auth, fatal, bug };
router id 10.0.0.1;
protocol device {
  scan time 10;
}
protocol direct addresses {
  ipv4;
  ipv6;
  interface "lo";
}
filter vips4 {
  if net ~ [ 192.0.2.10/32 ] then accept;
  reject;
}
filter vips6 {
  if net ~ [ 2001:db8::10/128 ] then accept;
  reject;
}
protocol bfd {
  interface "*" { interval 100 ms; multiplier 3; };
  multihop { interval 100 ms; multiplier 3; };
}
protocol bgp neighbor_1 {
  local as 65010;
  neighbor 10.0.0.254 as 65000;
  direct;
  bfd on;
  hold time 9;
  keepalive time 3;
  connect retry time 5;
  connect delay time 1;
  error wait time 1, 10;
  graceful restart off;
  long lived graceful restart off;
  ipv4 {
    import none;
    export filter vips4;
    next hop self;
  };
}
)");
}

// Every field of a neighbor has its line.
TEST(BirdConfig, EveryFieldOfANeighbor) {
  BirdPlan with = plan();
  with.bgp.neighbors[0] = {.address = ip("fd00::fe"),
                           .as = 4'200'000'000,
                           .password_file = "/p",
                           .source = ip("fd00::1"),
                           .multihop = 4,
                           .bfd = false};
  with.passwords[ip("fd00::fe")] = "s3cret word";
  with.interfaces = {"lo", "vips0"};
  const std::string text = bird_config(with);
  for (const char* line :
       {"local fd00::1 as 65010;", "neighbor fd00::fe as 4200000000;", "multihop 4;",
        "password \"s3cret word\";", "export filter vips6;", "interface \"lo\", \"vips0\";"})
    EXPECT_TRUE(text.contains(line)) << line << " is not in\n" << text;
  for (const char* line : {"direct;", "bfd on;", "protocol bfd", "export filter vips4;"})
    EXPECT_FALSE(text.contains(line)) << line << " is in\n" << text;
}

// Without VIPs of a family nothing of it is announced, and the filter is still one.
TEST(BirdConfig, NoVipsNoRoutes) {
  BirdPlan none = plan();
  none.vips.clear();
  EXPECT_TRUE(bird_config(none).contains("filter vips4 {\n  reject;\n}"));
}

// A password cannot end its quotation marks.
TEST(BirdConfig, Passwords) {
  EXPECT_TRUE(check_password("a b;{}'#"));
  for (const std::string& bad : {std::string(), std::string("a\"; bfd off"), std::string("a\nb"),
                                 std::string(81, 'x'), std::string("\xc3\xa9")})
    EXPECT_FALSE(check_password(bad)) << bad;
}

// Only VIPs with `announce: bgp` are told to routers.
TEST(BirdConfig, OnlyVipsOfBgp) {
  VipPlan vips;
  EXPECT_FALSE(bird_plan(vips, {}));
  vips.bgp = plan().bgp;
  for (const auto& [address, announce] :
       {std::pair{"192.0.2.1", Announce::bgp}, std::pair{"192.0.2.2", Announce::route},
        std::pair{"192.0.2.3", Announce::l2}}) {
    VipEntry entry;
    entry.vip.address = ip(address);
    entry.vip.interface = "lo";
    entry.announce = announce;
    vips.vips.push_back(entry);
  }
  const std::optional<BirdPlan> bird = bird_plan(vips, {});
  ASSERT_TRUE(bird);
  EXPECT_EQ(bird->vips, std::set<Ip>{ip("192.0.2.1")});
}

}  // namespace
}  // namespace fairlead::vip
