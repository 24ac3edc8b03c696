#include "features/vip/node/vip_why.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

const Ip kVip = Ip::v4(0x0a00004b);

VipFacts facts(const std::string& backend, const std::string& holder) {
  VipFacts facts{.node = "a", .backend = backend, .engine_runs = true};
  facts.vip = VipReport{.address = kVip.to_string(), .interface = "eth0", .holder = holder};
  facts.report.members = {{"a", ""}, {"b", ""}, {"c", ""}};
  facts.report.peers = {{.name = "b", .alive = false}, {.name = "c", .alive = false}};
  return facts;
}
std::string why(const VipFacts& known) {
  const agent::Explanation told = explain_vip(known, kVip);
  return told.missing.empty() ? "" : told.missing.front().why;
}

TEST(VipWhy, AmongPeersAMajorityCounts) {
  EXPECT_NE(why(facts("raft", "")).find("1 of 3 members"), std::string::npos);
}

// In a store there are records of nodes that are gone for good: they are no majority of anything.
TEST(VipWhy, InAStoreNoMajorityCounts) {
  for (const char* backend : {"etcd", "kubernetes"}) {
    VipFacts known = facts(backend, "");
    EXPECT_EQ(why(known).find("majority"), std::string::npos) << why(known);
    EXPECT_NE(why(known).find(backend), std::string::npos) << why(known);
    known.report.leader = "a";
    EXPECT_NE(why(known).find("the assigner, a, has found no node"), std::string::npos);
    known.vip->holder = "a";
    EXPECT_EQ(why(known), "the store has not confirmed its claim yet");
  }
}

TEST(VipWhy, AHolderThatIsNotHeardIsNone) {
  VipFacts known = facts("raft", "b");
  EXPECT_FALSE(explain_vip(known, kVip).fulfilled);
  EXPECT_NE(why(known).find("b is not heard"), std::string::npos);
  known.report.peers[0].alive = true;
  EXPECT_TRUE(explain_vip(known, kVip).fulfilled);
}

}  // namespace
}  // namespace fairlead::vip
