// Electors of several nodes under every fault that the promise names.
#include "features/vip/election/elector.h"

#include <gtest/gtest.h>

#include "features/vip/election/test_site.h"

namespace fairlead::vip {
namespace {

TEST(Elector, EveryVipFindsAHolderAndTheyAreSpread) {
  Site site({"a", "b", "c"}, 6, 1);
  site.run(3s);
  std::map<std::string, int> count;
  for (int i = 1; i <= 6; ++i) ++count[site.holder(i)];
  EXPECT_EQ(count, (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"c", 2}}));
  EXPECT_EQ(site.two, 0);
  site.run(60s);
  EXPECT_EQ(site.changes, 6);  // nothing moves without a reason
}

TEST(Elector, ASingleNodeHoldsAll) {
  Site site({"a"}, 3, 1);
  site.run(2s);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(site.holder(i), "a");
}

// How long nobody answered.
Duration gap(Site& site, int number) {
  const std::int64_t began = site.now();
  for (int i = 0; i < 10'000; ++i) {
    site.run(1ms);
    if (!site.holder(number).empty()) return (site.now() - began) * 1us;
  }
  return 1h;
}

TEST(Elector, ADeadHostIsReplacedWithinTheBound) {
  const Timing timing;
  const Duration bound = promise_length(timing, timing.lease) + 2 * timing.renew;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Site site({"a", "b", "c"}, 1, seed);
    site.run(3s);
    const std::string first = site.holder(1);
    ASSERT_EQ(first.size(), 1u);
    if (seed % 2 == 0)
      ASSERT_TRUE(site.host(site.leader()).engine->raft().transfer({}, first) ||
                  first == site.leader());
    site.run(1s);
    site.power_off(site.host(first));
    EXPECT_LE(gap(site, 1), bound) << "seed " << seed;
    EXPECT_EQ(site.two, 0);
  }
}

// Also when it was the assigner: its farewell starts the election.
TEST(Elector, AKilledEngineIsReplacedAfterTheMargin) {
  const Timing timing;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Site site({"a", "b", "c"}, 1, seed);
    site.run(3s);
    const std::string holder = site.holder(1);
    const std::string leader = site.leader();
    const std::string other = holder == "a" ? "b" : "a";
    if (seed % 2 == 0 && leader != holder)
      (void)site.host(leader).engine->raft().transfer({}, holder);
    if (seed % 2 == 1 && leader == holder)
      (void)site.host(leader).engine->raft().transfer({}, other);
    site.run(1s);
    ASSERT_EQ(site.leader() == holder, seed % 2 == 0) << "seed " << seed;
    site.kill(site.host(holder));
    site.run(timing.margin);  // what was queued
    EXPECT_LE(gap(site, 1), seed % 2 == 0 ? 80ms : 15ms) << "seed " << seed;
    EXPECT_EQ(site.two, 0);
  }
}

TEST(Elector, APlannedMoveCostsTheMarginAndTwoRoundTrips) {
  Site site({"a", "b", "c"}, 1, 9);
  site.run(3s);
  const std::string to = site.holder(1) == "a" ? "b" : "a";
  // Asked of a node that does not lead: the assigner is told.
  auto& asked = site.host(site.leader() == "c" ? "a" : "c");
  const std::uint64_t number =
      asked.engine->wish(site.clock(asked), {.kind = Wish::Kind::move, .vip = vip(1), .node = to});
  site.run(100ms);
  EXPECT_EQ(site.holder(1), to);
  const std::optional<Result<>> answer = asked.engine->take_answer(number);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(*answer);
  site.run(30s);
  EXPECT_EQ(site.holder(1), to);
}

// 1 → 3 → 5 → 3 members, with lost messages and engines that are killed meanwhile.
TEST(Elector, MembersComeAndGoAndNeverDoTwoHold) {
  int kills = 0, removed_leaders = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Site site({"a"}, 2, seed);
    site.faults.loss = 0.02;
    site.run(2s);
    EXPECT_EQ(site.holder(1), "a") << "seed " << seed;
    for (const std::string name : {"b", "c", "d", "e"}) {
      site.join(name);
      site.run(300ms);
      site.insist(
          "a", {.kind = Wish::Kind::add_member, .vip = {}, .node = name, .address = name + ":1"});
      if (site.pick(2) == 0) site.kill(site.host(name)), ++kills;
      site.run(1s);
    }
    if (site.pick(2) == 0) site.kill(site.host("a"));  // another one leads
    site.run(1s);
    for (const std::string& name : {site.leader(), std::string("b")}) {
      if (name.empty() || name == "a") continue;
      removed_leaders += name == site.leader() ? 1 : 0;
      site.insist("a", {.kind = Wish::Kind::remove_member, .vip = {}, .node = name, .address = {}});
      site.run(500ms);
      site.power_off(site.host(name));
      site.run(1s);
    }
    site.faults.loss = 0;
    site.run(3s);
    EXPECT_EQ(site.two, 0) << "seed " << seed;
    EXPECT_EQ(site.holder(1).size(), 1u) << "seed " << seed;
    EXPECT_EQ(site.holder(2).size(), 1u) << "seed " << seed;
    EXPECT_LE(site.host("a").engine->raft().latest().settings.members.size(), 4u);
  }
  EXPECT_GT(kills, 5);
  EXPECT_GT(removed_leaders, 2);
}

// A leader that was cut off from one member gives a VIP to another, and dies before that member
// hears of it: that member leads next, with a table that is old.
TEST(Elector, ANewLeaderWithAnOldTableLeavesNoVipWithoutAHolder) {
  int old_tables = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Site site({"a", "b", "c"}, 1, seed);
    site.run(3s);
    const std::string leader = site.leader();
    std::vector<std::string> others;
    for (const auto& [name, host] : site.hosts())
      if (name != leader) others.push_back(name);
    const std::string holder = others[0], unaware = others[1];
    auto& at = site.host(leader);
    (void)at.engine->wish(site.clock(at),
                          {.kind = Wish::Kind::move, .vip = vip(1), .node = holder});
    site.run(1s);
    ASSERT_EQ(site.holder(1), holder) << "seed " << seed;
    site.cut = {{leader, unaware}, {unaware, leader}};
    (void)at.engine->wish(site.clock(at),
                          {.kind = Wish::Kind::move, .vip = vip(1), .node = leader});
    site.run(100ms);
    if (site.holder(1) == leader) ++old_tables;
    site.power_off(at);
    site.run(3s);
    EXPECT_EQ(site.holder(1).size(), 1u) << "seed " << seed;
    EXPECT_EQ(site.two, 0);
  }
  EXPECT_GT(old_tables, 10);
}

TEST(Elector, WishesAreRefusedWithTheReason) {
  Site site({"a", "b", "c"}, 1, 4);
  site.run(3s);
  auto& asked = site.host("a");
  Code code{};
  const auto answer_to = [&](Wish wish) -> std::string {
    const std::uint64_t number = asked.engine->wish(site.clock(asked), std::move(wish));
    std::optional<Result<>> answer;
    for (int i = 0; i < 60 && !answer; ++i) {
      site.run(100ms);
      answer = asked.engine->take_answer(number);
    }
    code = answer && !*answer ? answer->error().code : Code::internal;
    return !answer ? "none" : *answer ? "done" : answer->error().message;
  };
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(1), .node = "x"}), "x is no member");
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(9), .node = "b"}),
            "b does not offer 10.0.0.9");
  EXPECT_EQ(answer_to({.kind = Wish::Kind::add_member, .vip = {}, .node = "b", .address = "z:2"}),
            "b is a member already, at b:1");
  EXPECT_EQ(code, Code::invalid);
  EXPECT_EQ(answer_to({.kind = Wish::Kind::add_member, .vip = {}, .node = "d", .address = "d:1"}),
            "d is not heard: start its agent first, with the other members in its file");
  EXPECT_EQ(answer_to({.kind = Wish::Kind::remove_member, .vip = {}, .node = "x", .address = {}}),
            "done");
  site.power_off(site.host("c"));
  site.run(1s);
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(1), .node = "c"}), "c does not answer");
  EXPECT_EQ(code, Code::unavailable) << "it may answer again: the command line is not wrong";
  EXPECT_EQ(answer_to({.kind = Wish::Kind::remove_member, .vip = {}, .node = "b", .address = {}}),
            "then no majority of the members would be up: start the others first");
  site.power_off(site.host("b"));
  site.run(1s);
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(1), .node = "b"}),
            "no assigner has answered: is a majority of the members up?");
}

// Whoever is told that it is done can rely on it: a majority has it on disk.
TEST(Elector, AChangeOfMembersIsAnsweredWhenItIsCommitted) {
  Site site({"a", "b", "c"}, 1, 4);
  site.run(3s);
  site.join("d");
  site.run(3s);
  auto& asked = site.host("a");
  site.disks_stall = true;
  const std::uint64_t number = asked.engine->wish(
      site.clock(asked),
      {.kind = Wish::Kind::add_member, .vip = {}, .node = "d", .address = "d:1"});
  for (int i = 0; i < 20; ++i) {
    site.run(100ms);
    ASSERT_FALSE(asked.engine->take_answer(number)) << "no disk has it";
  }
  site.disks_stall = false;
  std::optional<Result<>> answer;
  for (int i = 0; i < 20 && !answer; ++i) {
    site.run(100ms);
    answer = asked.engine->take_answer(number);
  }
  ASSERT_TRUE(answer);
  EXPECT_TRUE(*answer);
  EXPECT_NE(asked.engine->raft().committed().settings.find("d"), nullptr);
}

// Whoever asked may be gone.
TEST(Elector, AnswersThatNobodyTakesAreForgotten) {
  Site site({"a"}, 1, 4);
  site.run(3s);
  auto& asked = site.host("a");
  const std::uint64_t number =
      asked.engine->wish(site.clock(asked), {.kind = Wish::Kind::move, .vip = vip(9), .node = "x"});
  site.run(100ms);
  EXPECT_TRUE(asked.engine->has_answers());
  site.run(2 * Wishes::kPatience);
  EXPECT_FALSE(asked.engine->has_answers());
  EXPECT_FALSE(asked.engine->take_answer(number));
}

TEST(Elector, ASickNodeGivesItsVipsUp) {
  Site site({"a", "b", "c"}, 3, 2);
  site.run(3s);
  const std::string first = site.holder(1);
  site.sick[first] = {1, 2, 3};
  site.offer(site.host(first));
  site.run(500ms);
  EXPECT_NE(site.holder(1), first);
  EXPECT_EQ(site.holder(1).size(), 1u);
}

TEST(Elector, TheDeathOfTheLeaderDropsNoVipOfAHealthyNode) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Site site({"a", "b", "c"}, 3, seed);
    site.run(3s);
    const std::string leader = site.leader();
    std::map<int, std::string> before;
    for (int i = 1; i <= 3; ++i) before[i] = site.holder(i);
    site.power_off(site.host(leader));
    for (int ms = 0; ms < 3'000; ++ms) {
      site.run(1ms);
      for (int i = 1; i <= 3; ++i)
        if (before[i] != leader) ASSERT_EQ(site.holder(i), before[i]) << "seed " << seed;
    }
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(site.holder(i).size(), 1u);
  }
}

// One is dead for good, and one of the others is started anew: the two must not wait for the vote
// of the third, in a term in which the new one cannot vote.
TEST(Elector, TwoOfThreeElectAfterOneOfThemWasStartedAnew) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const char* again : {"a", "b"}) {
      Site site({"a", "b", "c"}, 1, seed);
      site.run(3s);
      site.power_off(site.host("c"));
      site.power_off(site.host(again));
      site.run(1s);
      site.power_on(site.host(again));
      site.run(5s);
      EXPECT_NE(site.leader(), "") << "seed " << seed << ", " << again;
      EXPECT_EQ(site.holder(1).size(), 1u) << "seed " << seed << ", " << again;
    }
}

TEST(Elector, StalledDisksStopNoFailover) {
  Site site({"a", "b", "c"}, 1, 5);
  site.run(3s);
  site.disks_stall = true;
  site.run(60s);
  EXPECT_EQ(site.changes, 1);
  const std::string first = site.holder(1);
  site.power_off(site.host(first));
  EXPECT_LE(gap(site, 1), 400ms);
}

TEST(Elector, WithoutAMajorityNobodyAnswers) {
  Site site({"a", "b", "c"}, 1, 6);
  site.run(3s);
  const std::string first = site.holder(1);
  site.cut = {{"a", "b"}, {"a", "c"}, {"b", "c"}};
  site.run(400ms);
  EXPECT_EQ(site.holder(1), "");
  site.cut.clear();
  site.run(1s);
  EXPECT_EQ(site.holder(1).size(), 1u);
}

int disturb(Site& site, int rounds) {
  int faults = 0;
  site.faults.disorder = true;
  std::vector<std::string> names;
  for (auto& [name, host] : site.hosts()) names.push_back(name);
  const auto any = [&]() -> const std::string& {
    return names[static_cast<std::size_t>(site.pick(static_cast<std::int64_t>(names.size())))];
  };
  for (int i = 0; i < rounds; ++i, ++faults) {
    Site::Host& host = site.host(any());
    switch (site.pick(9)) {
      case 0:
        site.kill(host);
        break;
      case 1:
        site.power_off(host);
        break;
      case 2:
        site.power_on(host);
        break;
      case 3:
        if (!host.dead) host.stopped = true;
        break;
      case 4:
        for (auto& [name, each] : site.hosts()) each.stopped = false;
        break;
      case 5: {
        const auto pair = std::minmax(any(), any());
        if (pair.first != pair.second) site.cut.insert({pair.first, pair.second});
        break;
      }
      case 6:
        site.cut.clear();
        break;
      case 7:
        site.faults.loss = site.pick(2) ? 0.2 : 0;
        break;
      case 8:
        site.disks_stall = site.pick(3) == 0;
        break;
    }
    site.run(Duration(site.pick(700'000'000)));
  }
  return faults;
}

TEST(Elector, NeverTwo) {
  int changes = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Site site(seed % 3 ? std::vector<std::string>{"a", "b", "c"}
                       : std::vector<std::string>{"a", "b", "c", "d", "e"},
              2, seed);
    site.run(1s);
    disturb(site, 60);
    EXPECT_EQ(site.two, 0) << "seed " << seed;
    site.cut.clear();
    site.faults.loss = 0;
    site.disks_stall = false;
    for (auto& [name, host] : site.hosts()) {
      host.stopped = false;
      site.power_on(host);
    }
    site.run(3s);
    EXPECT_EQ(site.two, 0) << "seed " << seed;
    for (int i = 1; i <= 2; ++i) EXPECT_EQ(site.holder(i).size(), 1u) << "seed " << seed;
    changes += site.changes;
    if (HasFailure()) break;
  }
  EXPECT_GT(changes, 100);
}

// Of an assigner that it never heard of: else it would go on claiming, and never grant the other.
TEST(Elector, ALeaderGivesUpWhatAnotherHoldsByALaterAssignment) {
  Site site({"a", "b", "c"}, 1, 3);
  site.run(3s);
  const std::string holder = site.holder(1), leader = site.leader();
  if (leader != holder) (void)site.host(leader).engine->raft().transfer({}, holder);
  site.run(1s);
  ASSERT_EQ(site.leader(), holder);
  Site::Host& host = site.host(holder);
  const std::vector<Claim> before = host.engine->wanted();
  ASSERT_EQ(before.size(), 1u);
  const std::string other = holder == "a" ? "b" : "a";
  const Beat beat{.sequence = 1,
                  .members = host.engine->raft().latest().version,
                  .lease = Timing{}.lease,
                  .claims = {{.vip = vip(1), .epoch = before[0].epoch + 1}}};
  host.engine->receive(site.clock(host), other,
                       {.incarnation = site.host(other).incarnation, .beat = beat});
  EXPECT_TRUE(host.engine->wanted().empty());
  ASSERT_EQ(host.engine->closing().size(), 1u);
  EXPECT_EQ(host.engine->closing()[0], before[0]);
}

// Majorities of a list and of the one after the next need not meet.
TEST(Elector, AHeartbeatThatCountsByAnOlderListIsNotGranted) {
  Settings settings;
  for (const char* name : {"a", "b", "c"})
    settings.members.push_back({.name = name, .address = std::string(name) + ":1"});
  const Version version{.term = 5, .index = 3};
  Elector elector(
      {.self = "a",
       .incarnation = 1,
       .durable = {.reserved_term = 1'000, .log = {{.version = version, .settings = settings}}}},
      Instant(1h), [] { return 7; });
  const Instant now = Instant(1h) + 1s;  // it is not young any more
  elector.tick(now);
  (void)elector.take_messages();
  const auto verdict_on = [&](std::uint64_t sequence, Version members) {
    Beat beat{.sequence = sequence,
              .members = members,
              .lease = Timing{}.lease,
              .claims = {{.vip = vip(1), .epoch = 9}}};
    elector.receive(now, "b", {.incarnation = 2, .beat = std::move(beat)});
    for (const Elector::Envelope& sent : elector.take_messages())
      if (sent.message.answer && sent.message.answer->sequence == sequence)
        return sent.message.answer->verdicts.at(0).kind;
    ADD_FAILURE() << "no answer";
    return Verdict::Kind::lease;
  };
  EXPECT_EQ(verdict_on(1, {.term = 5, .index = 2}), Verdict::Kind::members);
  EXPECT_EQ(verdict_on(2, version), Verdict::Kind::granted);
}

TEST(Elector, TheJudgeConvictsAnOpenFence) {
  int two = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Site site({"a", "b", "c"}, 1, seed);
    site.fence_off = true;
    site.run(1s);
    disturb(site, 60);
    two += site.two;
  }
  EXPECT_GT(two, 0);
}

}  // namespace
}  // namespace fairlead::vip
