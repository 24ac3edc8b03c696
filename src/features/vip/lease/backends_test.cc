#include "features/vip/lease/backends.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

// Leases that a store over the network cannot keep are refused, with the field.
TEST(Backends, TimingIsChecked) {
  EXPECT_TRUE(check_store_timing(kEtcdTiming, 1s));
  EXPECT_TRUE(check_store_timing(kKubernetesTiming, 2s));
  const Result<> quick = check_store_timing({.lease = 300ms, .renew = 30ms}, 1s);
  ASSERT_FALSE(quick);
  EXPECT_EQ(quick.error().message, "lease 300ms: must be at least 1000ms with this back end");
  EXPECT_FALSE(check_store_timing({.lease = 2s, .renew = 1s}, 1s));  // no renewal may be late
}

TEST(Backends, AStoreBehindAVipIsRefused) {
  const std::vector<Ip> vips{*Ip::parse("10.0.0.75"), *Ip::parse("fd00::75")};
  EXPECT_TRUE(check_not_behind("10.0.0.7", vips));
  EXPECT_TRUE(check_not_behind("a.example.com", vips));
  const Result<> behind = check_not_behind("10.0.0.75", vips);
  ASSERT_FALSE(behind);
  EXPECT_NE(behind.error().message.find("10.0.0.75 is one of the virtual IPs"), std::string::npos);
  EXPECT_FALSE(check_not_behind("fd00:0::75", vips));
}

}  // namespace
}  // namespace fairlead::vip
