// Disks that are lost or copied, and terms from a far future.
#include <gtest/gtest.h>

#include "features/vip/election/test_site.h"

namespace fairlead::vip {
namespace {

std::string problem(Site& site, const std::string& at, const std::string& of) {
  Site::Host& host = site.host(at);
  for (const Participant& one : host.engine->participants(site.clock(host)))
    if (one.name == of) return one.problem;
  return "no member";
}

TEST(ElectorDisks, TheMembersLearnEachOthersDisks) {
  Site site({"a", "b", "c"}, 1, 1);
  site.run(3s);
  for (auto& [name, host] : site.hosts())
    for (const Member& member : host.engine->raft().latest().settings.members)
      EXPECT_EQ(member.instance, site.host(member.name).instance) << name << " of " << member.name;
  EXPECT_EQ(site.changes, 1) << "it costs no change of hands";
}

// It has forgotten its votes: it counts for nothing until it was removed and added again.
TEST(ElectorDisks, AMemberThatLostItsDiskTakesPartAsANewOne) {
  Site site({"a", "b", "c"}, 1, 2);
  site.run(3s);
  Site::Host& c = site.host("c");
  site.power_off(c);
  site.run(1s);
  site.lose_disk(c);
  site.power_on(c);
  site.run(3s);
  for (const char* at : {"a", "b"})
    EXPECT_EQ(problem(site, at, "c").substr(0, 43), "c has another disk than the members know: i");
  EXPECT_NE(problem(site, "c", "c").find("know this node by another disk"), std::string::npos);
  EXPECT_EQ(site.holder(1).size(), 1u);
  site.power_off(site.host("b"));
  site.run(3s);
  EXPECT_EQ(site.holder(1), "") << "one of three, and one that does not count";
  site.power_on(site.host("b"));
  site.run(3s);
  EXPECT_EQ(site.holder(1).size(), 1u);
  site.insist("a", {.kind = Wish::Kind::remove_member, .vip = {}, .node = "c", .address = {}});
  site.insist("a", {.kind = Wish::Kind::add_member, .vip = {}, .node = "c", .address = "c:1"});
  site.run(3s);
  EXPECT_EQ(problem(site, "a", "c"), "");
  EXPECT_EQ(problem(site, "c", "c"), "");
  site.power_off(site.host("b"));
  site.run(3s);
  EXPECT_EQ(site.holder(1).size(), 1u) << "it counts again";
  EXPECT_EQ(site.two, 0);
}

TEST(ElectorDisks, ACopiedDiskIsNotListenedTo) {
  Site site({"a", "b", "c"}, 1, 3);
  site.run(3s);
  Site::Host& c = site.host("c");
  site.power_off(c);
  c.disk = site.host("b").disk;
  c.instance = site.host("b").instance;
  site.power_on(c);
  site.run(3s);
  EXPECT_EQ(problem(site, "a", "c").substr(0, 30), "c has a copy of the disk of b:");
  EXPECT_EQ(site.holder(1).size(), 1u);
  site.power_off(site.host("b"));
  site.run(3s);
  EXPECT_EQ(site.holder(1), "");
  EXPECT_EQ(site.two, 0);
}

TEST(ElectorDisks, ATermFromAFarFutureUsesNothingUp) {
  Site site({"a", "b", "c"}, 1, 4);
  site.run(3s);
  const std::string holder = site.holder(1);
  const std::uint64_t term = site.host("a").engine->term();
  for (const std::uint64_t far : {term + kMostTermsAhead + 1, kLastTerm + 1, ~std::uint64_t{0}}) {
    for (const auto kind : {RaftMessage::Kind::append, RaftMessage::Kind::ask_vote,
                            RaftMessage::Kind::ask_before_vote, RaftMessage::Kind::appended})
      for (const char* to : {"a", "b"}) {
        Site::Host& host = site.host(to);
        host.engine->receive(site.clock(host), "c",
                             {.incarnation = 5, .raft = RaftMessage{.kind = kind, .term = far}});
        EXPECT_NE(problem(site, to, "c").find("too far ahead"), std::string::npos);
      }
    site.run(1s);
  }
  EXPECT_EQ(site.host("a").engine->term(), term);
  EXPECT_EQ(site.holder(1), holder);
  EXPECT_EQ(site.changes, 1);
}

}  // namespace
}  // namespace fairlead::vip
