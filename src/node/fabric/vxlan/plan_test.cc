#include "node/fabric/vxlan/plan.h"

#include <gtest/gtest.h>

namespace fairlead::fabric::vxlan {
namespace {

Station station(const std::string& id, int number, const std::string& interface = "") {
  const std::string digit = std::to_string(number);
  return {.id = id,
          .vni = 100,
          .mac = *Mac::parse("02:00:00:00:00:0" + digit),
          .addresses = {*Ip::parse("10.0.0." + digit)},
          .interface = interface,
          .host = *Ip::parse("192.0.2.1")};
}

constexpr std::uint32_t kMtu = 1450;

End end_of(const Station& made_for) {
  return {.ifindex = 5, .station = made_for, .up = true, .guard = Guard::current, .mtu = kMtu};
}

Holdings holding(const std::vector<Entry>& entries) {
  Holdings holdings;
  for (const Entry& entry : entries) holdings.put(entry);
  return holdings;
}

// What is as it should be stays untouched.
TEST(PlanEnd, NothingWhenAllIsThere) {
  const Station wanted = station("a", 1, "fl1");
  const End end = end_of(wanted);
  EXPECT_TRUE(plan_end(&wanted, &end, kMtu, Extent::host).nothing());
  EXPECT_TRUE(plan_end(nullptr, nullptr, kMtu, Extent::host).nothing());
  const Station remote = station("a", 1);
  EXPECT_TRUE(plan_end(&remote, nullptr, kMtu, Extent::host).nothing());
}

// An end is made where there is none, and removed where there should be none.
TEST(PlanEnd, MakesAndRemoves) {
  const Station wanted = station("a", 1, "fl1");
  const End end = end_of(wanted);
  EXPECT_EQ(plan_end(&wanted, nullptr, kMtu, Extent::station), EndPlan{.make = true});
  EXPECT_EQ(plan_end(nullptr, &end, kMtu, Extent::station), EndPlan{.remove = true});
  const Station moved_away = station("a", 1);
  EXPECT_EQ(plan_end(&moved_away, &end, kMtu, Extent::station), EndPlan{.remove = true});
}

// A guest's interface cannot be changed where it is; its addresses and its network need not be.
TEST(PlanEnd, MakesAnewOnlyWhatTheGuestSees) {
  const Station wanted = station("a", 1, "fl1");
  End end = end_of(station("a", 2, "fl1"));
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::station),
            (EndPlan{.remove = true, .make = true}));
  end = end_of(station("a", 1, "fl2"));
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::station),
            (EndPlan{.remove = true, .make = true}));
  end = end_of(wanted);
  end.station.vni = 7;
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::station), EndPlan{.describe = true});
}

// A missing filter is put back at once; one of another build only when the whole host is audited.
TEST(PlanEnd, GuardsAndRaises) {
  const Station wanted = station("a", 1, "fl1");
  End end = end_of(wanted);
  end.guard = Guard::none;
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::station), EndPlan{.guard = true});
  end.guard = Guard::older;
  EXPECT_TRUE(plan_end(&wanted, &end, kMtu, Extent::station).nothing());
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::host), EndPlan{.guard = true});
  end.guard = Guard::current;
  end.up = false;
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::station), EndPlan{.raise = true});
}

// What the underlay's MTU leaves is given to the stations.
TEST(PlanMtu, IsWhatTheTunnelLeaves) {
  EXPECT_EQ(*plan_mtu(1500, true), 1450U);
  EXPECT_EQ(*plan_mtu(9000, false), 8930U);
  EXPECT_EQ(*plan_mtu(1330, true), 1280U);
  EXPECT_FALSE(plan_mtu(1329, true));
  EXPECT_FALSE(plan_mtu(1349, false));
}

// When the underlay's MTU changes, both ends follow, or the one that is still to be reached.
TEST(PlanEnd, Resizes) {
  const Station wanted = station("a", 1, "fl1");
  End end = end_of(wanted);
  end.guest = GuestEnd{.ifindex = 6, .mtu = kMtu};
  EXPECT_TRUE(plan_end(&wanted, &end, kMtu, Extent::station).nothing());
  const EndPlan both{.resize = true, .resize_guest = true};
  EXPECT_EQ(plan_end(&wanted, &end, 8950, Extent::station), both);
  EXPECT_EQ(plan_end(&wanted, &end, 1300, Extent::station), both);
  end.guest->mtu = 1300;
  EXPECT_EQ(plan_end(&wanted, &end, kMtu, Extent::station), EndPlan{.resize_guest = true});
  // Made larger, it waits for the guest to follow; made smaller, it would drop what the guest
  // sends.
  end.guest.reset();
  EXPECT_EQ(plan_end(&wanted, &end, 8950, Extent::station), EndPlan{.resize = true});
  EXPECT_TRUE(plan_end(&wanted, &end, 1300, Extent::station).nothing());
}

// Only what differs is written.
TEST(PlanEntries, PutsWhatIsMissingOrOther) {
  const std::vector<Entry> wanted = entries_of(station("a", 1), 0);
  EXPECT_TRUE(plan_entries(wanted, owner_of("a"), holding(wanted)).nothing());
  EXPECT_EQ(plan_entries(wanted, owner_of("a"), {}).put, wanted);
  Station elsewhere = station("a", 1);
  elsewhere.host = *Ip::parse("192.0.2.9");
  const EntryPlan plan = plan_entries(entries_of(elsewhere, 0), owner_of("a"), holding(wanted));
  ASSERT_EQ(plan.put.size(), 1U);  // the place; the address is answered as before
  EXPECT_EQ(plan.put.front().key.table, Table::places);
  EXPECT_TRUE(plan.drop.empty());
}

// What the station does not want any more goes: an address, or everything.
TEST(PlanEntries, DropsWhatIsTooMuch) {
  Station both = station("a", 1);
  both.addresses.push_back(*Ip::parse("fd00::1"));
  const Holdings holdings = holding(entries_of(both, 0));
  const EntryPlan less = plan_entries(entries_of(station("a", 1), 0), owner_of("a"), holdings);
  EXPECT_TRUE(less.put.empty());
  ASSERT_EQ(less.drop.size(), 1U);
  EXPECT_EQ(less.drop.front().table, Table::answers);
  EXPECT_EQ(plan_entries({}, owner_of("a"), holdings).drop.size(), 3U);
  EXPECT_TRUE(plan_entries({}, owner_of("b"), holdings).nothing());
}

// An address that another station took over is not taken from it when the first one goes.
TEST(PlanEntries, LeavesWhatAnotherTookOver) {
  Holdings holdings = holding(entries_of(station("old", 1), 0));
  Station successor = station("new", 2);
  successor.addresses = station("old", 1).addresses;
  const EntryPlan arrival = plan_entries(entries_of(successor, 0), owner_of("new"), holdings);
  EXPECT_EQ(arrival.put.size(), 2U);
  for (const Entry& entry : arrival.put) holdings.put(entry);
  const EntryPlan departure = plan_entries({}, owner_of("old"), holdings);
  ASSERT_EQ(departure.drop.size(), 1U);
  EXPECT_EQ(departure.drop.front().table, Table::places);
}

// What is dropped is gone by key and by owner.
TEST(Holdings, ForgetWhatWasDropped) {
  const std::vector<Entry> entries = entries_of(station("a", 1), 0);
  Holdings holdings = holding(entries);
  EXPECT_EQ(holdings.owners(), std::vector<Owner>{owner_of("a")});
  for (const Entry& entry : entries) holdings.drop(entry.key);
  EXPECT_EQ(holdings.size(), 0U);
  EXPECT_TRUE(holdings.owners().empty());
  EXPECT_EQ(holdings.find(entries.front().key), nullptr);
}

}  // namespace
}  // namespace fairlead::fabric::vxlan
