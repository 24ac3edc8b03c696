#include "features/networks/ipam/address_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace fairlead::ipam {
namespace {

RandomBits bits_from(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)]() mutable { return engine(); };
}

// Any sequence of takes and releases is what a plain set would have done, with touching runs
// merged.
TEST(AddressSet, BehavesAsAPlainSet) {
  std::mt19937_64 engine(7);
  AddressSet set;
  std::set<unsigned> model;
  for (int step = 0; step < 20'000; ++step) {
    const unsigned address = static_cast<unsigned>(engine() % 200);
    if (engine() % 2 == 0) {
      EXPECT_EQ(set.take(address), model.insert(address).second);
    } else {
      EXPECT_EQ(set.release(address), model.erase(address) == 1);
    }
    std::size_t runs = 0;
    for (const unsigned taken : model) runs += taken == 0 || !model.contains(taken - 1);
    ASSERT_EQ(set.runs(), runs);
  }
  for (unsigned address = 0; address < 200; ++address)
    EXPECT_EQ(set.contains(address), model.contains(address)) << address;
}

TEST(AddressSet, PicksEveryFreeAddressAndThenNone) {
  const RandomBits random = bits_from(1);
  const AddressRange range{10, 73};
  AddressSet set;
  set.take(9);
  set.take(74);
  for (int i = 0; i < 64; ++i) {
    const auto picked = set.pick(range, random);
    ASSERT_TRUE(picked);
    EXPECT_GE(*picked, range.first);
    EXPECT_LE(*picked, range.last);
    EXPECT_TRUE(set.take(*picked));
  }
  EXPECT_FALSE(set.pick(range, random));
  set.release(41);
  EXPECT_EQ(set.pick(range, random), AddressNumber{41});
}

TEST(AddressSet, TheEndsOfTheNumberRangeAreOrdinary) {
  const AddressNumber top = ~AddressNumber{0};
  AddressSet set;
  EXPECT_TRUE(set.take(top));
  EXPECT_TRUE(set.take(0));
  EXPECT_EQ(set.runs(), 2U);
  EXPECT_TRUE(set.take(top - 1));
  EXPECT_EQ(set.runs(), 2U);
  EXPECT_FALSE(set.pick({top - 1, top}, bits_from(3)));
  EXPECT_TRUE(set.pick({0, top}, bits_from(3)));
  EXPECT_TRUE(set.release(top));
  EXPECT_EQ(set.pick({top - 1, top}, bits_from(3)), top);
}

TEST(UsableRange, LeavesOutTheUsual) {
  const auto range = [](std::string_view block) { return usable_range(*Cidr::parse(block)); };
  const auto ip = [](AddressNumber number, bool v4) { return ip_of(number, v4).to_string(); };
  EXPECT_EQ(ip(range("10.0.0.0/24").first, true), "10.0.0.2");
  EXPECT_EQ(ip(range("10.0.0.0/24").last, true), "10.0.0.254");
  EXPECT_EQ(ip(range("10.0.0.8/29").first, true), "10.0.0.10");
  EXPECT_EQ(ip(range("10.0.0.8/29").last, true), "10.0.0.14");
  EXPECT_EQ(ip(range("10.0.0.4/30").first, true), "10.0.0.4");
  EXPECT_EQ(ip(range("10.0.0.4/30").last, true), "10.0.0.7");
  EXPECT_EQ(ip(range("10.0.0.4/32").last, true), "10.0.0.4");
  EXPECT_EQ(ip(range("10.0.0.0/8").last, true), "10.255.255.254");
  EXPECT_EQ(ip(range("fd00::/64").first, false), "fd00::2");
  EXPECT_EQ(ip(range("fd00::/64").last, false), "fd00::ffff:ffff:ffff:ffff");
  EXPECT_EQ(ip(range("fd00::/127").first, false), "fd00::");
}

}  // namespace
}  // namespace fairlead::ipam
