#include "node/fabric/names.h"

#include <gtest/gtest.h>

#include <set>

namespace fairlead::fabric {
namespace {

TEST(InterfaceNames, FitLinuxAndTellAttachmentsApart) {
  std::set<std::string> names;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name =
        guest_interface_name("d8d938e7-4e84-4b78-9d88-" + std::to_string(100'000'000'000 + i));
    EXPECT_EQ(name.size(), 15U);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 10'000U);
}

TEST(InterfaceNames, HostEndLeadsBackToTheGuests) {
  const std::string guest = guest_interface_name("d8d938e7-4e84-4b78-9d88-21a70a1a2064");
  const std::string host = host_interface_name(guest);
  EXPECT_NE(host, guest);
  EXPECT_EQ(guest_of_host_interface(host), guest);
}

TEST(InterfaceNames, ThingsOfOthersAreNotOurs) {
  for (const char* name :
       {"", "fh", "eth0", "fh0123", "fh012345678901g", "fl0123456789012", "fh01234567890123"})
    EXPECT_FALSE(guest_of_host_interface(name)) << name;
}

}  // namespace
}  // namespace fairlead::fabric
