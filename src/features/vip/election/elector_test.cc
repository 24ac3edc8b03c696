// Electors of several nodes with the fences that they move, on clocks that differ, under every
// fault that the promise names.
#include "features/vip/election/elector.h"

#include <gtest/gtest.h>

#include <random>

namespace fairlead::vip {
namespace {

Ip vip(int number) { return Ip::v4(0x0a000000u + static_cast<std::uint32_t>(number)); }

struct Faults {
  double loss = 0;
  Duration latency = 2ms;
  bool disorder = false;  // some messages come late or twice
};

class Site {
 public:
  Site(std::vector<std::string> names, int vips, std::uint64_t seed, Timing timing = {})
      : random_(seed), vips_(vips), timing_(timing) {
    Settings settings{.members = {}, .timing = timing};
    for (const std::string& name : names)
      settings.members.push_back({.name = name, .address = name + ":1"});
    for (const std::string& name : names) {
      Host& host = hosts_[name];
      host.name = name;
      // Two clocks differ in pace by at most the drift.
      const std::int64_t half = timing.drift_ppm / 2;
      host.rate = 1.0 + static_cast<double>(pick(2 * half + 1) - half) / 1e6;
      host.offset = Duration(pick(3'600'000'000'000));
      host.disk = {.reserved_term = 0, .log = {{.version = {}, .settings = settings}}};
      start(host);
    }
  }

  struct Host {
    std::string name;
    double rate = 1;
    Duration offset{};
    std::optional<Elector> engine;
    std::uint64_t incarnation = 0;
    Raft::Durable disk;
    std::optional<std::pair<std::int64_t, Raft::Write>> writing;
    std::map<Ip, Instant> fence;                          // deadlines in the kernel
    std::map<Ip, std::int64_t> queued_until;              // packets that passed it, in real time
    std::vector<std::pair<std::int64_t, Claim>> closing;  // when the margin has passed
    bool stopped = false;                                 // SIGSTOP
    bool dead = false;                                    // no power
    std::optional<std::int64_t> guard_at;                 // when the guard has waited its margin
    std::optional<Message> farewell;
  };

  void run(Duration time) {
    const std::int64_t until = now_ + time / 1us;
    for (; now_ < until; now_ += kStep) step();
  }

  Host& host(const std::string& name) { return hosts_.at(name); }
  // A machine that is to become a member: its file names those that there are, and itself.
  void join(const std::string& name) {
    Settings settings = hosts_.begin()->second.disk.log.back().settings;
    settings.members.push_back({.name = name, .address = name + ":1"});
    std::ranges::sort(settings.members);
    Host& host = hosts_[name];
    host.name = name;
    host.offset = Duration(pick(3'600'000'000'000));
    host.disk = {.reserved_term = 0, .log = {{.version = {}, .settings = settings}}};
    start(host);
  }
  // Asked of any node, until it is done.
  void insist(const std::string& at, const Wish& wish) {
    std::string last;
    for (int tries = 0; tries < 20; ++tries) {
      Host& asked = host(at);
      if (!asked.engine) {
        run(100ms);
        continue;
      }
      const std::uint64_t number = asked.engine->wish(clock(asked), wish);
      for (int i = 0; i < 60; ++i) {
        run(100ms);
        if (!asked.engine) break;
        const std::optional<Result<>> answer = asked.engine->take_answer(number);
        if (answer && *answer) return;
        if (answer) last = answer->error().message;
        if (answer) break;
      }
    }
    std::string told;
    for (auto& [name, one] : hosts_)
      if (one.engine)
        told +=
            "\n" + name +
            (one.engine->raft().leads() ? " leads" : " follows " + one.engine->raft().leader()) +
            " in term " + std::to_string(one.engine->raft().term()) + " of " +
            std::to_string(one.engine->raft().latest().settings.members.size()) +
            (one.engine->raft().settled() ? "" : ", not settled");
    FAIL() << "never granted: " << wish.node << ", " << last << told;
  }
  std::map<std::string, Host>& hosts() { return hosts_; }
  void kill(Host& host) {  // the guard sees it at once
    if (host.dead || !host.engine) return;
    host.farewell = host.engine->farewell();
    host.engine.reset();
    host.writing.reset();
    host.closing.clear();
    host.stopped = false;
    close_fences(host);
    host.guard_at = now_ + timing_.margin / 1us;
  }
  void power_off(Host& host) {
    host.engine.reset();
    host.writing.reset();
    host.closing.clear();
    host.fence.clear();
    host.queued_until.clear();
    host.guard_at.reset();
    host.stopped = false;
    host.dead = true;
  }
  void power_on(Host& host) {
    if (!host.dead) return;
    host.dead = false;
    host.offset += 1h;  // boot time is another one; it may be any
    start(host);
  }
  bool answers(const Host& host, const Ip& address) const {
    if (host.dead) return false;
    const auto deadline = host.fence.find(address);
    if (deadline != host.fence.end() && clock(host) < deadline->second) return true;
    const auto queued = host.queued_until.find(address);
    return queued != host.queued_until.end() && now_ < queued->second;
  }
  std::string holder(int number) const {
    std::string names;
    for (const auto& [name, host] : hosts_)
      if (answers(host, vip(number))) names += name;
    return names;
  }
  std::string leader() {
    for (auto& [name, host] : hosts_)
      if (host.engine && host.engine->raft().leads()) return name;
    return {};
  }
  Instant clock(const Host& host) const {
    return Instant(host.offset + Duration(static_cast<std::int64_t>(static_cast<double>(now_) *
                                                                    1e3 * host.rate)));
  }
  std::int64_t now() const { return now_; }
  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }

  Faults faults;
  std::set<std::pair<std::string, std::string>> cut;  // pairs, in order
  bool disks_stall = false;
  bool fence_off = false;  // a test of the test
  int two = 0, changes = 0;
  std::map<std::string, std::set<int>> sick;
  std::function<void(Host&)> on_restart;

 private:
  static constexpr std::int64_t kStep = 500;  // µs

  void start(Host& host) {
    host.incarnation = random_() | 1;
    host.engine.emplace(
        ElectorOptions{.self = host.name, .incarnation = host.incarnation, .durable = host.disk},
        clock(host), [this] { return random_(); });
    offer(host);
  }
  void close_fences(Host& host) {
    for (auto& [address, deadline] : host.fence) {
      if (clock(host) < deadline)  // what is in the queue still leaves, within the margin
        host.queued_until[address] = now_ + pick(timing_.margin / 1us);
      deadline = {};
    }
  }

 public:
  void offer(Host& host) {
    std::vector<Offer> offers;
    for (int i = 1; i <= vips_; ++i)
      offers.push_back({.vip = vip(i), .healthy = !sick[host.name].contains(i)});
    if (host.engine) host.engine->offer(clock(host), std::move(offers));
  }

 private:
  void step() {
    for (auto& [name, host] : hosts_) {
      if (host.dead) continue;
      if (host.guard_at && now_ >= *host.guard_at) {
        for (auto& [other, to] : hosts_)
          if (other != name) send(name, other, *host.farewell);
        host.guard_at.reset();
        start(host);
      }
      if (host.engine && !host.stopped) work(host);
    }
    std::vector<Flying> due;
    std::erase_if(flying_, [&](Flying& one) {
      const auto to = hosts_.find(one.to);
      if (one.due > now_ || to == hosts_.end() || to->second.stopped) return false;
      due.push_back(std::move(one));
      return true;
    });
    for (Flying& one : due) {
      Host& to = hosts_.at(one.to);
      if (to.dead || !to.engine) continue;
      to.engine->receive(clock(to), one.from, one.message);
      carry_out(to);
    }
    judge();
  }
  void work(Host& host) {
    const Instant now = clock(host);
    if (now >= host.engine->next_tick()) host.engine->tick(now);
    if (!host.writing && !disks_stall)
      if (auto write = host.engine->take_write())
        host.writing.emplace(now_ + pick(20'000), std::move(*write));
    if (host.writing && host.writing->first <= now_ && !disks_stall) {
      host.disk = host.writing->second.durable;
      host.engine->written(now, host.writing->second.number);
      host.writing.reset();
    }
    std::vector<Claim> done;
    std::erase_if(host.closing, [&](const auto& one) {
      if (one.first > now_) return false;
      done.push_back(one.second);
      return true;
    });
    for (const Claim& claim : done) host.engine->closed(now, claim);
    carry_out(host);
  }
  // What the engine does: fences first, then messages.
  void carry_out(Host& host) {
    for (const Claim& claim : host.engine->closing()) {
      const bool begun =
          std::ranges::any_of(host.closing, [&](const auto& one) { return one.second == claim; });
      if (begun) continue;
      Instant& deadline = host.fence[claim.vip];
      if (clock(host) < deadline) host.queued_until[claim.vip] = now_ + pick(timing_.margin / 1us);
      deadline = {};
      host.closing.emplace_back(now_ + timing_.margin / 1us, claim);
    }
    for (const Claim& claim : host.engine->wanted())
      if (const auto deadline = host.engine->deadline(claim.vip)) {
        host.fence[claim.vip] = fence_off ? Instant::max() : *deadline;
        // What passes the fence in its last moment leaves up to a margin later.
        host.queued_until[claim.vip] = 0;
      }
    for (Elector::Envelope& envelope : host.engine->take_messages())
      send(host.name, envelope.to, std::move(envelope.message));
  }
  void send(const std::string& from, const std::string& to, const Message& message) {
    const auto pair = std::minmax(from, to);
    if (cut.contains({pair.first, pair.second})) return;
    if (std::uniform_real_distribution<>(0, 1)(random_) < faults.loss) return;
    const std::int64_t times = faults.disorder && pick(20) == 0 ? 2 : 1;
    for (std::int64_t i = 0; i < times; ++i) {
      const std::int64_t late = faults.disorder && pick(50) == 0 ? pick(200'000) : 0;
      flying_.push_back({now_ + pick(faults.latency / 1us) + late, from, to, message});
    }
  }
  void judge() {
    for (int i = 1; i <= vips_; ++i) {
      const std::string names = holder(i);
      if (names.size() > 1) ++two;
      if (names.size() == 1 && last_[i] != names) {
        last_[i] = names;
        ++changes;
      }
    }
  }
  struct Flying {
    std::int64_t due;
    std::string from, to;
    Message message;
  };
  std::mt19937_64 random_;
  int vips_;
  Timing timing_;
  std::int64_t now_ = 0;
  std::map<std::string, Host> hosts_;
  std::vector<Flying> flying_;
  std::map<int, std::string> last_;
};

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
  const auto answer_to = [&](Wish wish) -> std::string {
    const std::uint64_t number = asked.engine->wish(site.clock(asked), std::move(wish));
    site.run(6s);
    const std::optional<Result<>> answer = asked.engine->take_answer(number);
    return !answer ? "none" : *answer ? "done" : answer->error().message;
  };
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(1), .node = "x"}), "x is no member");
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(9), .node = "b"}),
            "b does not offer 10.0.0.9");
  EXPECT_EQ(answer_to({.kind = Wish::Kind::add_member, .vip = {}, .node = "b", .address = "z:2"}),
            "b is a member already, at b:1");
  EXPECT_EQ(answer_to({.kind = Wish::Kind::remove_member, .vip = {}, .node = "x", .address = {}}),
            "done");
  site.power_off(site.host("c"));
  site.run(1s);
  EXPECT_EQ(answer_to({.kind = Wish::Kind::remove_member, .vip = {}, .node = "b", .address = {}}),
            "then no majority of the members would be up: start the others first");
  site.power_off(site.host("b"));
  site.run(1s);
  EXPECT_EQ(answer_to({.kind = Wish::Kind::move, .vip = vip(1), .node = "b"}),
            "no assigner has answered: is a majority of the members up?");
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
