// Where a VIP that routers lead to may be held.
#include "features/vip/routes/routed_interfaces.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

const Ip kVip = *Ip::parse("192.0.2.75");

HostState host() {
  HostState host;
  host.links[1] = {.ifindex = 1, .name = "lo", .loopback = true, .up = true, .carrier = true};
  host.links[2] = {.ifindex = 2, .name = "eth0", .ethernet = true, .up = false};
  return host;
}
void add(HostState& host, std::uint32_t ifindex, int prefix, std::uint8_t protocol) {
  host.addresses[{ifindex, kVip, prefix}] = {.on_link = Cidr(kVip, prefix), .protocol = protocol};
}
std::string problem(const HostState& host, const std::string& interface = "lo") {
  const Result<> usable = check_routed(host, kVip, interface);
  return usable ? "" : usable.error().message;
}

// No network and no carrier is needed, only an interface that is up.
TEST(RoutedInterfaces, NeedAnInterface) {
  EXPECT_EQ(problem(host()), "");
  EXPECT_EQ(problem(host(), "eth0"), "interface eth0 is down");
  EXPECT_EQ(problem(host(), "eth1"), "there is no interface eth1");
}

// The engine's own address does not stand in the way, anybody else's does.
TEST(RoutedInterfaces, OtherAddressesStandInTheWay) {
  HostState ours = host();
  add(ours, 1, 32, kHeldRouteProtocol);
  EXPECT_EQ(problem(ours), "");
  for (const std::uint8_t protocol : {std::uint8_t{0}, kAddressProtocol, kAnycastProtocol}) {
    HostState others = host();
    add(others, 2, 24, protocol);
    EXPECT_EQ(problem(others),
              "192.0.2.75 is an address of this host, added by somebody else: 192.0.2.75/24 on "
              "eth0");
  }
}

}  // namespace
}  // namespace fairlead::vip
