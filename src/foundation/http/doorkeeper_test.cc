#include "foundation/http/doorkeeper.h"

#include <gtest/gtest.h>

namespace fairlead::http {
namespace {

// Ports do not make addresses different, nor does what a customer may choose of an IPv6 address.
TEST(AddressGroup, IsWhatOneClientHas) {
  EXPECT_EQ(address_group("10.0.0.7:41234"), "10.0.0.7");
  EXPECT_EQ(address_group("10.0.0.7:2"), address_group("10.0.0.7:3"));
  EXPECT_NE(address_group("10.0.0.7:2"), address_group("10.0.0.8:2"));
  EXPECT_EQ(address_group("[2001:db8:1:2:3:4:5:6]:9"), "2001:db8:1:2::/64");
  EXPECT_EQ(address_group("[2001:db8:1:2::1]:9"), address_group("[2001:db8:1:2:ffff::]:1"));
  EXPECT_NE(address_group("[2001:db8:1:2::1]:9"), address_group("[2001:db8:1:3::1]:9"));
  EXPECT_EQ(address_group("[fe80::1%eth0]:9"), "fe80::/64");
  EXPECT_EQ(address_group("unix:/run/x.sock"), "unix:/run/x.sock");
  EXPECT_EQ(address_group(""), "");
}

// One address that floods pushes out its own oldest connections; the others stay.
TEST(Doorkeeper, TheGreediestAddressGivesWay) {
  Doorkeeper door(100, 10);
  for (Doorkeeper::Id id = 1; id <= 3; ++id) EXPECT_FALSE(door.enter(id, "friend").gives_way);
  for (Doorkeeper::Id id = 4; id <= 10; ++id) EXPECT_FALSE(door.enter(id, "flood").gives_way);
  for (Doorkeeper::Id id = 11; id <= 1000; ++id) {
    const Doorkeeper::Entry entry = door.enter(id, "flood");
    EXPECT_TRUE(entry.admitted);
    EXPECT_EQ(entry.gives_way, id - 7);
  }
  // Another address finds room at once, at the cost of the flood.
  const Doorkeeper::Entry entry = door.enter(1001, "newcomer");
  EXPECT_TRUE(entry.admitted);
  EXPECT_EQ(entry.gives_way, 994u);
  EXPECT_EQ(door.strangers(), 10u);
}

// Many addresses with one connection each: the oldest of all gives way.
TEST(Doorkeeper, AmongEqualsTheOldestGivesWay) {
  Doorkeeper door(100, 3);
  for (Doorkeeper::Id id = 1; id <= 3; ++id) door.enter(id, std::to_string(id));
  for (Doorkeeper::Id id = 4; id <= 50; ++id)
    EXPECT_EQ(door.enter(id, std::to_string(id)).gives_way, id - 3);
}

// Whoever is known has left the strangers' places, and is never turned out for one of them.
TEST(Doorkeeper, TheKnownStay) {
  Doorkeeper door(5, 2);
  for (Doorkeeper::Id id = 1; id <= 4; ++id) {
    EXPECT_FALSE(door.enter(id, "fleet").gives_way);
    door.recognise(id);
  }
  EXPECT_EQ(door.strangers(), 0u);
  EXPECT_TRUE(door.enter(5, "x").admitted);
  // Full: a newcomer takes a stranger's place, not one of a known connection.
  EXPECT_EQ(door.enter(6, "fleet").gives_way, 5u);
  door.recognise(6);
  EXPECT_FALSE(door.enter(7, "fleet").admitted);
  EXPECT_EQ(door.connections(), 5u);
  door.leave(1);
  EXPECT_TRUE(door.enter(8, "fleet").admitted);
  door.leave(5);  // has left already
  EXPECT_EQ(door.connections(), 5u);
}

}  // namespace
}  // namespace fairlead::http
