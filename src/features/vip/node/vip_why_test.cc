#include "features/vip/node/vip_why.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead::vip {
namespace {

const Ip kVip = Ip::v4(0x0a00004b);

VipFacts lonely(const std::string& backend, const std::string& holder) {
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
  EXPECT_NE(why(lonely("raft", "")).find("1 of 3 members"), std::string::npos);
}

// In a store there are records of nodes that are gone for good: they are no majority of anything.
TEST(VipWhy, InAStoreNoMajorityCounts) {
  for (const char* backend : {"etcd", "kubernetes"}) {
    VipFacts known = lonely(backend, "");
    EXPECT_EQ(why(known).find("majority"), std::string::npos) << why(known);
    EXPECT_NE(why(known).find(backend), std::string::npos) << why(known);
    known.report.leader = "a";
    EXPECT_NE(why(known).find("the assigner, a, has found no node"), std::string::npos);
    known.vip->holder = "a";
    EXPECT_EQ(why(known), "the store has not confirmed its claim yet");
  }
}

TEST(VipWhy, AHolderThatIsNotHeardIsNone) {
  VipFacts known = lonely("raft", "b");
  EXPECT_FALSE(explain_vip(known, kVip).fulfilled);
  EXPECT_NE(why(known).find("b is not heard"), std::string::npos);
  known.report.peers[0].alive = true;
  EXPECT_TRUE(explain_vip(known, kVip).fulfilled);
}

// Node a, in an election with b, c and d; b holds the VIP.
VipFacts facts() {
  VipFacts facts{.node = "a", .engine_runs = true, .engine_problem = {}};
  facts.vip = {
      .address = "10.0.0.75", .interface = "eth0", .holder = "b", .epoch = 7, .healthy = true};
  facts.report.leader = "a";
  for (const char* name : {"a", "b", "c", "d"}) {
    facts.report.members.push_back({.name = name, .address = {}});
    if (std::string_view(name) != "a") facts.report.peers.push_back({.name = name, .alive = true});
  }
  return facts;
}

bool notes(const VipFacts& facts, std::string_view wanted) {
  const agent::Explanation told = explain_vip(facts, *Ip::parse("10.0.0.75"));
  const bool found = std::ranges::any_of(
      told.notes, [&](const std::string& note) { return note.contains(wanted); });
  if (!found)
    for (const std::string& note : told.notes) std::printf("note: %s\n", note.c_str());
  return found;
}

// The assigner knows what the others offer.
TEST(VipWhy, OtherNodesByTheirOffers) {
  VipFacts known = facts();
  known.report.knows_others = true;
  known.vip->others = {{.node = "b", .healthy = true, .priority = 100},
                       {.node = "c", .healthy = false, .priority = 200}};
  EXPECT_TRUE(notes(known, "node c offers it and is not healthy"));
  EXPECT_TRUE(notes(known, "node d does not offer it"));
  known.vip->others.push_back({.node = "d", .healthy = true, .priority = 50});
  EXPECT_TRUE(notes(known, "node d could hold it, with priority 50"));
  known.report.peers[2].alive = false;
  EXPECT_TRUE(notes(known, "node d is not heard by this node"));
}

// Another node says who knows, unless the API has the others' own words.
TEST(VipWhy, OtherNodesElsewhere) {
  VipFacts unknown = facts();
  unknown.report.leader = "c";
  EXPECT_TRUE(notes(unknown, "told to the assigner: ask the same on node c"));
  unknown.told_by_others = {{"c", "Unhealthy: tcp 127.0.0.1:80: refused"}, {"d", "Standby"}};
  EXPECT_TRUE(notes(unknown, "node c says: Unhealthy: tcp 127.0.0.1:80: refused"));
  EXPECT_TRUE(notes(unknown, "node d says: Standby"));
  EXPECT_FALSE(notes(unknown, "ask the same on node"));
}

}  // namespace
}  // namespace fairlead::vip
