#include "features/vip/election/raft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fairlead::vip {
namespace {

Settings settings_of(const std::vector<std::string>& names) {
  Settings settings;
  for (const std::string& name : names)
    settings.members.push_back({.name = name, .address = name + ":1"});
  return settings;
}

// Nodes on one clock, with a network and disks that the test disturbs.
class Cluster {
 public:
  Cluster(std::vector<std::string> names, std::uint64_t seed) : random_(seed) {
    for (const std::string& name : names) {
      disks_[name] = {.reserved_term = 0, .log = {{.version = {}, .settings = settings_of(names)}}};
      start(name);
    }
  }
  void start(const std::string& name) {
    nodes_[name] =
        std::make_unique<Raft>(name, disks_.at(name), now_, [this] { return random_(); });
    pending_.erase(name);
  }
  // Before anything was written.
  void set_lease(const std::string& name, Duration lease) {
    disks_.at(name).log.front().settings.timing.lease = lease;
    start(name);
  }
  void stop(const std::string& name) {
    nodes_.erase(name);
    pending_.erase(name);
  }
  void add_blank(const std::string& name, std::vector<std::string> peers) {
    peers.push_back(name);
    std::ranges::sort(peers);
    disks_[name] = {.reserved_term = 0, .log = {{.version = {}, .settings = settings_of(peers)}}};
    start(name);
  }
  void run(Duration time) {
    for (const Instant until = now_ + time; now_ < until; now_ += 1ms) step();
  }
  std::string leader() {
    std::string found;
    for (auto& [name, node] : nodes_)
      if (node->leads() && (found.empty() || nodes_[found]->term() < node->term())) found = name;
    return found;
  }
  Raft& node(const std::string& name) { return *nodes_.at(name); }
  Instant now() const { return now_; }
  void show() const {
    for (const auto& [name, node] : nodes_) {
      std::string members;
      for (const Member& member : node->latest().settings.members) members += member.name;
      std::printf("%s: %s term %llu, log %llu.%llu {%s}%s\n", name.c_str(),
                  node->leads() ? "leads" : "follows",
                  static_cast<unsigned long long>(node->term()),
                  static_cast<unsigned long long>(node->latest().version.term),
                  static_cast<unsigned long long>(node->latest().version.index), members.c_str(),
                  node->settled() ? "" : " not committed");
    }
  }

  double loss = 0;
  bool disks_stall = false;
  std::set<std::string> cut;                     // from all others
  std::map<std::uint64_t, std::string> leaders;  // by term
  std::map<std::uint64_t, Entry> committed;      // by index
  int elections = 0, changes = 0;

 private:
  void step() {
    for (auto& [name, node] : nodes_) {
      if (now_ >= node->next_tick()) node->tick(now_);
      if (!pending_.contains(name) && !disks_stall)
        if (auto write = node->take_write())
          pending_[name] = {now_ + Duration(random_() % 20'000'000), std::move(*write)};
    }
    for (auto at = pending_.begin(); at != pending_.end();) {
      if (disks_stall || at->second.first > now_) {
        ++at;
        continue;
      }
      disks_[at->first] = at->second.second.durable;
      nodes_.at(at->first)->written(now_, at->second.second.number);
      at = pending_.erase(at);
    }
    for (auto& [name, node] : nodes_)
      for (Raft::Envelope& envelope : node->take_messages()) {
        if (cut.contains(name) || cut.contains(envelope.to)) continue;
        if (std::uniform_real_distribution<>(0, 1)(random_) < loss) continue;
        flying_.push_back({now_ + Duration(random_() % 5'000'000), name, envelope});
      }
    std::vector<Flying> due;
    std::erase_if(flying_, [&](Flying& one) {
      if (one.due > now_) return false;
      due.push_back(std::move(one));
      return true;
    });
    for (Flying& one : due)
      if (const auto to = nodes_.find(one.envelope.to); to != nodes_.end())
        to->second->receive(now_, one.from, one.envelope.message);
    check();
  }
  void check() {
    for (auto& [name, node] : nodes_) {
      if (node->leads()) {
        const auto [at, fresh] = leaders.try_emplace(node->term(), name);
        EXPECT_EQ(at->second, name) << "two leaders in term " << node->term();
        elections += fresh;
      }
      const Entry& entry = node->committed();
      if (entry.version.index == 0) continue;  // what the file says
      const auto [at, fresh] = committed.try_emplace(entry.version.index, entry);
      EXPECT_EQ(at->second, entry) << "two entries at " << entry.version.index;
      changes += fresh;
    }
  }
  struct Flying {
    Instant due;
    std::string from;
    Raft::Envelope envelope;
  };
  std::mt19937_64 random_;
  Instant now_{1h};
  std::map<std::string, Raft::Durable> disks_;
  std::map<std::string, std::unique_ptr<Raft>> nodes_;
  std::map<std::string, std::pair<Instant, Raft::Write>> pending_;
  std::vector<Flying> flying_;
};

TEST(Raft, ASingleNodeLeadsItself) {
  Cluster cluster({"a"}, 1);
  cluster.run(1s);
  EXPECT_EQ(cluster.leader(), "a");
}

TEST(Raft, OneOfThreeLeadsAndStays) {
  Cluster cluster({"a", "b", "c"}, 1);
  cluster.run(2s);
  const std::string first = cluster.leader();
  ASSERT_FALSE(first.empty());
  cluster.run(60s);
  EXPECT_EQ(cluster.leader(), first);
  EXPECT_EQ(cluster.elections, 1);
}

TEST(Raft, AnotherLeadsWithinTwoElectionTimesOfTheLeadersDeath) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster({"a", "b", "c"}, seed);
    cluster.run(2s);
    const std::string first = cluster.leader();
    cluster.stop(first);
    cluster.run(350ms);  // 150 to 300, and two round trips
    EXPECT_NE(cluster.leader(), first);
    EXPECT_FALSE(cluster.leader().empty()) << seed;
  }
}

TEST(Raft, ElectsWithoutItsDisks) {
  Cluster cluster({"a", "b", "c"}, 1);
  cluster.run(2s);
  cluster.disks_stall = true;
  const std::string first = cluster.leader();
  cluster.stop(first);
  cluster.run(1s);
  EXPECT_FALSE(cluster.leader().empty());
}

TEST(Raft, AMemberThatWasCutOffDoesNotDisturb) {
  Cluster cluster({"a", "b", "c"}, 3);
  cluster.run(2s);
  const std::string first = cluster.leader();
  const std::string other = first == "a" ? "b" : "a";
  cluster.cut = {other};
  cluster.run(10s);
  cluster.cut.clear();
  cluster.run(10s);
  EXPECT_EQ(cluster.leader(), first);
  EXPECT_EQ(cluster.elections, 1);
}

TEST(Raft, ALeaderThatIsCutOffStepsDown) {
  Cluster cluster({"a", "b", "c"}, 4);
  cluster.run(2s);
  const std::string first = cluster.leader();
  cluster.cut = {first};
  cluster.run(1s);
  EXPECT_FALSE(cluster.node(first).leads());
  EXPECT_NE(cluster.leader(), first);
}

TEST(Raft, HandsOverWhenAsked) {
  Cluster cluster({"a", "b", "c"}, 5);
  cluster.run(2s);
  const std::string to = cluster.leader() == "b" ? "c" : "b";
  ASSERT_TRUE(cluster.node(cluster.leader()).transfer(cluster.now(), to));
  cluster.run(50ms);
  EXPECT_EQ(cluster.leader(), to);
}

Result<> propose(Cluster& cluster, const std::vector<std::string>& names) {
  Result<> outcome = fail(Code::unavailable, "no leader");
  for (int i = 0; i < 100; ++i) {
    const std::string leader = cluster.leader();
    if (!leader.empty()) outcome = cluster.node(leader).propose(cluster.now(), settings_of(names));
    if (outcome || outcome.error().code != Code::unavailable) return outcome;
    cluster.run(50ms);
  }
  return outcome;
}

TEST(Raft, MembersComeAndGoOneAtATime) {
  Cluster cluster({"a"}, 6);
  cluster.run(1s);
  EXPECT_FALSE(propose(cluster, {"a", "b", "c"}));
  std::vector<std::string> names{"a"};
  for (const char* name : {"b", "c", "d", "e"}) {
    cluster.add_blank(name, names);
    names.push_back(name);
    ASSERT_TRUE(propose(cluster, names)) << name;
    cluster.run(1s);
    EXPECT_TRUE(cluster.node(name).settled());
  }
  const std::string leader = cluster.leader();
  for (const std::string& gone : {leader, std::string(leader == "b" ? "c" : "b")}) {
    std::erase(names, gone);
    ASSERT_TRUE(propose(cluster, names)) << gone;
    cluster.run(1s);
    EXPECT_FALSE(cluster.node(gone).leads());
    cluster.stop(gone);
  }
  cluster.run(1s);
  EXPECT_EQ(cluster.node(cluster.leader()).committed().settings.members.size(), 3u);
  EXPECT_GE(cluster.changes, 6);
}

TEST(Raft, ChangesKeepTheirDistance) {
  Cluster cluster({"a", "b", "c"}, 7);
  cluster.run(2s);
  ASSERT_TRUE(propose(cluster, {"a", "b", "c", "d"}));
  cluster.run(100ms);
  const Result<> second =
      cluster.node(cluster.leader()).propose(cluster.now(), settings_of({"a", "b", "c"}));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable) << second.error().message;
}

// One node, asked by hand.
struct Voter {
  Raft::Durable disk{.reserved_term = 0, .log = {{{}, settings_of({"a", "b", "c"})}}};
  std::optional<Raft> node;
  Instant now{1h};
  Voter() { start(); }
  void start() {
    node.emplace("a", disk, now, [] { return 1; });
  }
  void sync() {
    while (auto write = node->take_write()) {
      disk = write->durable;
      node->written(now, write->number);
    }
  }
  std::optional<RaftMessage> ask(const std::string& from, RaftMessage message) {
    (void)node->take_messages();
    node->receive(now, from, message);
    const auto messages = node->take_messages();
    return messages.empty() ? std::nullopt : std::optional(messages.back().message);
  }
  bool votes(const std::string& from, std::uint64_t term) {
    return ask(from, {.kind = RaftMessage::Kind::ask_vote, .term = term})->yes;
  }
};

TEST(Raft, NoVoteIsGivenTwiceAlsoAcrossARestart) {
  Voter voter;
  EXPECT_FALSE(voter.votes("b", 1));  // the disk has not reserved terms yet
  voter.sync();
  EXPECT_TRUE(voter.votes("b", 1));
  EXPECT_TRUE(voter.votes("b", 1));  // asked again
  EXPECT_FALSE(voter.votes("c", 1));
  EXPECT_TRUE(voter.votes("c", 2));
  voter.sync();
  const std::uint64_t reserved = voter.disk.reserved_term;
  ASSERT_GE(reserved, 1'000u);
  EXPECT_TRUE(voter.votes("b", reserved));
  voter.start();  // with what is on disk
  EXPECT_FALSE(voter.votes("c", 2));
  EXPECT_FALSE(voter.votes("c", reserved));
  voter.sync();
  ASSERT_GT(voter.disk.reserved_term, reserved);
  EXPECT_FALSE(voter.votes("c", reserved));
  EXPECT_TRUE(voter.votes("c", reserved + 1));
}

TEST(Raft, WhatIsNotOnDiskIsNotAcknowledged) {
  Voter voter;
  voter.sync();
  const Entry fresh{{1, 1}, settings_of({"a", "b", "c", "d"})};
  const RaftMessage append{.kind = RaftMessage::Kind::append,
                           .term = 1,
                           .last = fresh.version,
                           .committed = 0,
                           .log = {voter.disk.log.front(), fresh}};
  EXPECT_EQ(voter.ask("b", append)->last, Version{});
  EXPECT_EQ(voter.node->latest(), fresh);  // but it counts by it
  const auto write = voter.node->take_write();
  EXPECT_EQ(voter.ask("b", append)->last, Version{});
  voter.node->written(voter.now, write->number);
  EXPECT_EQ(voter.ask("b", append)->last, fresh.version);
  RaftMessage old = append;  // one that was overtaken
  old.log.pop_back();
  old.last = {};
  (void)voter.ask("b", old);
  EXPECT_EQ(voter.node->latest(), fresh);
}

TEST(Raft, AFollowerThatRestartsDoesNotDisturbAndCountsAgainAfterAChange) {
  Cluster cluster({"a", "b", "c"}, 9);
  cluster.run(2s);
  const std::string leader = cluster.leader();
  for (const char* name : {"a", "b", "c"}) {
    if (name == leader) continue;
    cluster.stop(name);
    cluster.start(name);
    cluster.run(1s);
  }
  EXPECT_EQ(cluster.leader(), leader);
  EXPECT_EQ(cluster.elections, 1);
  ASSERT_TRUE(propose(cluster, {"a", "b", "c", "d"}));
  cluster.run(1s);
  EXPECT_TRUE(cluster.node(cluster.leader()).settled());
  EXPECT_EQ(cluster.node(cluster.leader()).committed().settings.members.size(), 4u);
}

TEST(Raft, TheFirstLeadersFileCountsForAll) {
  Cluster cluster({"a", "b", "c"}, 1);
  for (const char* name : {"a", "b", "c"}) cluster.set_lease(name, 300ms + name[0] * 1ms);
  cluster.run(2s);
  ASSERT_FALSE(cluster.leader().empty());
  const Settings& agreed = cluster.node(cluster.leader()).latest().settings;
  EXPECT_EQ(agreed.timing.lease, 300ms + cluster.leader()[0] * 1ms);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(cluster.node(name).latest().settings, agreed);
    EXPECT_TRUE(cluster.node(name).settled());
  }
}

// What a member is able to that is dead, or was never heard, helps nobody.
TEST(Raft, ThreeOfFourCommitAndElectWhateverTheyHaveReserved) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster({"a", "b", "c", "d"}, seed);
    cluster.stop("d");
    cluster.run(1s);
    const std::string first = cluster.leader();
    ASSERT_FALSE(first.empty());
    const std::string other = first == "a" ? "b" : "a";
    cluster.start(other);  // it may have voted in the terms that it had reserved
    cluster.run(2s);
    const std::string leader = cluster.leader();
    ASSERT_FALSE(leader.empty());
    Settings without = cluster.node(leader).latest().settings;
    without.timing.renew = 20ms;
    for (int tries = 0; tries < 20 && cluster.node(leader).leads(); ++tries) {
      if (cluster.node(leader).propose(cluster.now(), without)) break;
      cluster.run(100ms);
    }
    cluster.run(2s);
    const std::string now = cluster.leader();
    ASSERT_FALSE(now.empty());
    EXPECT_TRUE(cluster.node(now).settled()) << "seed " << seed;
    cluster.start(now);
    cluster.run(3s);
    EXPECT_FALSE(cluster.leader().empty()) << "seed " << seed;
  }
}

TEST(Raft, ALeaderConfirmsItsTermBeforeItsFirstChange) {
  Cluster cluster({"a", "b", "c"}, 8);
  cluster.run(2s);
  cluster.stop(cluster.leader());  // whose entry was the first of all
  cluster.run(2s);
  Raft& leader = cluster.node(cluster.leader());
  const Settings four = settings_of({"a", "b", "c", "d"});
  EXPECT_EQ(leader.propose(cluster.now(), four).error().message,
            "the leader is confirming its term: try again");
  EXPECT_EQ(leader.propose(cluster.now(), four).error().message,
            "an earlier change is not committed yet");
  cluster.run(1s);
  EXPECT_TRUE(leader.propose(cluster.now(), four));
}

// Nodes crash, disks are slow, messages are lost, members come and go: the checks of Cluster hold,
// and everything settles at the end.
TEST(Raft, HoldsUnderFaults) {
  int elections = 0, changes = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::vector<std::string> all{"a", "b", "c", "d", "e"};
    Cluster cluster({"a", "b", "c"}, seed);
    cluster.add_blank("d", {"a", "b", "c"});
    cluster.add_blank("e", {"a", "b", "c"});
    std::mt19937_64 random(seed);
    std::vector<std::string> wanted{"a", "b", "c"};
    for (int i = 0; i < 40; ++i) {
      cluster.loss = random() % 3 == 0 ? 0.3 : 0.02;
      cluster.cut.clear();
      if (random() % 3 == 0) cluster.cut = {all[random() % 5], all[random() % 5]};
      const std::string& victim = all[random() % 5];
      if (random() % 2 == 0) {
        cluster.stop(victim);
        cluster.run(Duration(random() % 500'000'000));
        cluster.start(victim);
      }
      const std::string leader = cluster.leader();
      if (!leader.empty()) {
        std::vector<std::string> names;
        for (const Member& member : cluster.node(leader).latest().settings.members)
          names.push_back(member.name);
        const std::string& one = all[random() % 5];
        if (std::erase(names, one) == 0) names.push_back(one);
        if (names.size() >= 2)
          (void)cluster.node(leader).propose(cluster.now(), settings_of(names));
      }
      cluster.run(Duration(random() % 800'000'000));
    }
    cluster.loss = 0;
    cluster.cut.clear();
    cluster.run(5s);
    EXPECT_FALSE(cluster.leader().empty()) << "seed " << seed;
    elections += cluster.elections;
    changes += cluster.changes;
    if (HasFailure()) {
      cluster.show();
      break;
    }
  }
  EXPECT_GT(elections, 500);
  EXPECT_GT(changes, 300);
}

}  // namespace
}  // namespace fairlead::vip
