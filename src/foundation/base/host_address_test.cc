#include "foundation/base/host_address.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Whatever would reach nobody, everybody or oneself is no address of a host.
TEST(HostAddress, IsOneHostsEverywhere) {
  for (const char* good : {"192.0.2.1", "10.0.0.1", "169.254.0.7", "2001:db8::1", "fd00::1"})
    EXPECT_EQ(host_address_problem(*Ip::parse(good)), "") << good;
  for (const char* bad : {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1",
                          "255.255.255.255", "127.0.0.1", "127.255.0.1", "::", "::1", "ff02::1",
                          "ff0e::7", "fe80::1", "febf::1", "::ffff:192.0.2.1", "::ffff:224.0.0.1"})
    EXPECT_NE(host_address_problem(*Ip::parse(bad)), "") << bad;
}

}  // namespace
}  // namespace fairlead
