#include "features/networks/ipam/subnet_rules.h"

#include <gtest/gtest.h>

namespace fairlead::ipam {
namespace {

SubnetFacts subnet(std::string name, std::string_view ipv4, bool validated,
                   std::int64_t created = 0, std::string namespace_name = "ns") {
  return {.namespace_name = std::move(namespace_name),
          .name = std::move(name),
          .uid = {},
          .vni = 7,
          .ipv4 = *Cidr::parse(ipv4),
          .ipv6 = {},
          .created_at = created,
          .validated = validated,
          .errors = {}};
}

TEST(SubnetRules, DisjointBlocksOfOneNamespaceAgree) {
  EXPECT_TRUE(
      conflicts(subnet("b", "10.1.0.0/16", false), {subnet("a", "10.0.0.0/16", true)}, {}).empty());
}

TEST(SubnetRules, OverlapAndForeignNamespaceAreNamed) {
  const auto errors = conflicts(subnet("b", "10.0.1.0/24", false),
                                {subnet("a", "10.0.0.0/16", true, 0, "other")}, {});
  EXPECT_EQ(errors, (std::vector<std::string>{"CIDR overlaps with other/a's (10.0.0.0/16)",
                                              "same VNI but different namespace wrt other/a"}));
}

TEST(SubnetRules, OnlyValidatedRivalsCount) {
  EXPECT_TRUE(conflicts(subnet("b", "10.0.1.0/24", false), {subnet("a", "10.0.0.0/16", false)}, {})
                  .empty());
}

TEST(SubnetRules, Ipv6BlocksConflictAmongThemselves) {
  SubnetFacts a = subnet("a", "10.0.0.0/24", true);
  SubnetFacts b = subnet("b", "10.0.1.0/24", false);
  a.ipv6 = *Cidr::parse("fd00::/48");
  b.ipv6 = *Cidr::parse("fd00:0:0:1::/64");
  EXPECT_EQ(conflicts(b, {a}, {}).size(), 1U);
}

// Of three that overlap one another the oldest gets its turn, the others are told who is in the
// way.
TEST(SubnetRules, WhenTheWinnerGoesTheOldestFollows) {
  const auto changed = judge_again(
      {subnet("young", "10.0.0.0/24", false, 30), subnet("old", "10.0.0.0/16", false, 10),
       subnet("apart", "10.9.0.0/16", true, 5)},
      {});
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].key, "ns/old");
  EXPECT_TRUE(changed[0].validated);
  EXPECT_EQ(changed[1].key, "ns/young");
  EXPECT_FALSE(changed[1].validated);
  EXPECT_EQ(changed[1].errors.front(), "CIDR overlaps with ns/old's (10.0.0.0/16)");
}

TEST(SubnetRules, NothingChangesForThoseWhoWaitForTheSameRival) {
  SubnetFacts waiting = subnet("b", "10.0.0.0/24", false, 10);
  waiting.errors = {"CIDR overlaps with ns/a's (10.0.0.0/16)"};
  EXPECT_TRUE(judge_again({subnet("a", "10.0.0.0/16", true), waiting}, {"ns"}).empty());
}

// A namespace that still has addresses in the network keeps others out; its own Subnets it does
// not.
TEST(SubnetRules, WhoHoldsAddressesKeepsTheNetwork) {
  const std::set<std::string> holders{"other"};
  EXPECT_EQ(conflicts(subnet("a", "10.0.0.0/16", false), {}, holders),
            std::vector<std::string>{"same VNI but namespace other still holds addresses of it"});
  EXPECT_TRUE(conflicts(subnet("a", "10.0.0.0/16", false), {}, {"ns"}).empty());
}

}  // namespace
}  // namespace fairlead::ipam
