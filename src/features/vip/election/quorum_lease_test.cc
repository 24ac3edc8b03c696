// PromiseBook and Tenure: rule by rule, and against each other under random delays, losses,
// restarts and drifting clocks.
#include <gtest/gtest.h>

#include <random>

#include "features/vip/election/promise_book.h"
#include "features/vip/election/tenure.h"

namespace fairlead::vip {
namespace {

using Kind = Verdict::Kind;

const Ip kVip = *Ip::parse("10.0.0.75");
const Claimant kA{"a", 1};
const Claimant kB{"b", 2};
constexpr Instant at(Duration time) { return Instant(1h + time); }

struct Book {
  Timing timing;
  PromiseBook book{timing, at(0s)};
  Duration length = promise_length(timing, timing.lease);
  Verdict claim(Duration now, const Claimant& who, Epoch epoch = 1) {
    return book.claim(at(now), who, timing.lease, {kVip, epoch});
  }
};

TEST(PromiseBook, GrantsNothingUntilEarlierPromisesOfThisPeerHaveEnded) {
  Book peer;
  EXPECT_EQ(peer.claim(0s, kA), (Verdict{.kind = Kind::young, .wait = peer.length}));
  EXPECT_EQ(peer.claim(peer.length - 1ns, kA).kind, Kind::young);
  EXPECT_TRUE(peer.claim(peer.length, kA).granted());
}

TEST(PromiseBook, KeepsAPromiseForLeaseDriftAndMargin) {
  Book peer;
  ASSERT_TRUE(peer.claim(1s, kA).granted());
  EXPECT_EQ(peer.length, 300ms + 300us + 20ms);
  EXPECT_EQ(peer.claim(1s, kB), (Verdict{.kind = Kind::promised, .wait = peer.length}));
  EXPECT_TRUE(peer.claim(1s + 200ms, kA).granted());  // renewed
  EXPECT_EQ(peer.claim(1s + peer.length, kB).kind, Kind::promised);
  EXPECT_TRUE(peer.claim(1s + 200ms + peer.length, kB).granted());
  EXPECT_EQ(peer.claim(1s + 200ms + peer.length, kA).kind, Kind::promised);
}

TEST(PromiseBook, AnotherIncarnationIsAnotherClaimant) {
  Book peer;
  ASSERT_TRUE(peer.claim(1s, kA).granted());
  EXPECT_EQ(peer.claim(1s, {"a", 7}).kind, Kind::promised);
  peer.book.release_all(kA);
  EXPECT_TRUE(peer.claim(1s, {"a", 7}).granted());
}

TEST(PromiseBook, AReleaseEndsOnlyThePromiseItIsAbout) {
  Book peer;
  ASSERT_TRUE(peer.claim(1s, kA, 5).granted());
  peer.book.release(kB, {kVip, 5});  // not its promise
  peer.book.release(kA, {kVip, 4});  // late, of an earlier tenure
  EXPECT_EQ(peer.claim(1s, kB, 6).kind, Kind::promised);
  peer.book.supersede(kVip, 6);
  peer.book.release(kA, {kVip, 5});
  EXPECT_TRUE(peer.claim(1s, kB, 6).granted());
}

TEST(PromiseBook, AClaimThatComesAfterItsReleaseIsRefused) {
  Book peer;
  ASSERT_TRUE(peer.claim(1s, kA, 5).granted());
  peer.book.release(kA, {kVip, 5});
  EXPECT_EQ(peer.claim(1s, kA, 5).kind, Kind::superseded);  // sent before the release
  EXPECT_TRUE(peer.claim(1s, kB, 6).granted());
}

TEST(PromiseBook, AnOlderEpochIsNotRenewed) {
  Book peer;
  ASSERT_TRUE(peer.claim(1s, kA, 5).granted());
  peer.book.supersede(kVip, 6);
  EXPECT_EQ(peer.claim(1s, kA, 5), (Verdict{.kind = Kind::superseded, .epoch = 6}));
  EXPECT_EQ(peer.claim(1s, kB, 6).kind, Kind::promised);  // but the promise still runs
}

TEST(PromiseBook, ALeaseLongerThanAgreedIsRefused) {
  Book peer;
  EXPECT_EQ(peer.book.claim(at(1s), kA, 301ms, {kVip, 1}).kind, Kind::lease);
  EXPECT_FALSE(peer.book.promised_until(kVip));
}

struct Holder {
  Tenure tenure{300ms};
  Holder() {
    tenure.set_members({.version = {1, 1}, .voters = {"a", "b", "c"}});
    tenure.want({kVip, 1});
  }
};

TEST(Tenure, CountsFromBeforeSendingAndOnlyWithAMajority) {
  Holder a;
  const Beat beat = a.tenure.beat(at(0s)).front();
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.answered("a", beat.sequence, {{}});
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.answered("a", beat.sequence, {{}});  // twice the same
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.answered("x", beat.sequence, {{}});  // a stranger
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.answered("c", beat.sequence, {{}});
  EXPECT_EQ(a.tenure.deadline(kVip), at(300ms));
}

TEST(Tenure, GrantsOfTwoHeartbeatsDoNotAddUp) {
  Holder a;
  const Beat first = a.tenure.beat(at(0s)).front();
  const Beat second = a.tenure.beat(at(30ms)).front();
  a.tenure.answered("a", first.sequence, {{}});
  a.tenure.answered("b", second.sequence, {{}});
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.answered("c", second.sequence, {{.kind = Kind::promised}});
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.answered("a", second.sequence, {{}});
  EXPECT_EQ(a.tenure.deadline(kVip), at(330ms));
  a.tenure.answered("b", first.sequence, {{}});  // late: the deadline does not go back
  EXPECT_EQ(a.tenure.deadline(kVip), at(330ms));
}

TEST(Tenure, ManyClaimsGoInPages) {
  Tenure tenure(300ms);
  tenure.set_members({.version = {}, .voters = {"a"}});
  for (std::uint32_t i = 1; i <= 5; ++i) tenure.want({Ip::v4(i), i});
  const std::vector<Beat> pages = tenure.beat(at(0s), 2);
  ASSERT_EQ(pages.size(), 3u);
  tenure.answered("a", pages[2].sequence, {{}});
  EXPECT_EQ(tenure.deadline(Ip::v4(5)), at(300ms));
  EXPECT_FALSE(tenure.deadline(Ip::v4(1)));
}

TEST(Tenure, ANewEpochBeginsWithoutADeadline) {
  Holder a;
  const Beat beat = a.tenure.beat(at(0s)).front();
  a.tenure.answered("a", beat.sequence, {{}});
  a.tenure.want({kVip, 2});
  a.tenure.answered("b", beat.sequence, {{}});
  EXPECT_FALSE(a.tenure.deadline(kVip));
  a.tenure.give_up(kVip);
  EXPECT_TRUE(a.tenure.claims().empty());
}

TEST(Tenure, AHeartbeatCountsByTheMembersOfWhenItWasSent) {
  Holder a;
  const Beat beat = a.tenure.beat(at(0s)).front();
  a.tenure.set_members({.version = {1, 2}, .voters = {"a"}});
  a.tenure.answered("a", beat.sequence, {{}});
  EXPECT_FALSE(a.tenure.deadline(kVip));
  EXPECT_EQ(a.tenure.beat(at(30ms)).front().members, (Version{1, 2}));
  a.tenure.answered("a", beat.sequence + 1, {{}});
  EXPECT_EQ(a.tenure.deadline(kVip), at(330ms));
}

TEST(Timing, UnsafeAndUnstableTimesAreRefused) {
  EXPECT_TRUE(check({}));
  EXPECT_EQ(check({.lease = 100ms, .renew = 30ms}).error().message,
            "lease 100ms: must be at least 4 times renew (30ms), or one late heartbeat ends it");
  EXPECT_EQ(check({.margin = 0ms}).error().message,
            "margin 0ms: must be at least 5ms: packets of the old holder may still wait in its "
            "queues");
  EXPECT_FALSE(check({.lease = 61s}));
  EXPECT_FALSE(check({.lease = 30ms, .renew = 1ms}));
  EXPECT_FALSE(check({.drift_ppm = -1}));
}

// Three nodes that all want the VIP all the time, each heartbeat and answer lost or late at random,
// peers that restart, clocks that differ by up to the drift. Real time is counted in microseconds;
// every node sees it through a clock of its own.
class Storm {
 public:
  explicit Storm(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      Node& node = nodes_[i];
      node.name = std::string(1, static_cast<char>('a' + i));
      node.rate = 1.0 + (pick(1'001) - 500) / 1e6;
      node.offset = Duration(pick(1'000'000'000));
      restart(node);
    }
  }

  void run() {
    for (now_ = 0; now_ < 60'000'000; now_ += 500) {
      for (Node& node : nodes_) step(node);
      deliver();
      judge();
    }
  }
  int changes = 0, two = 0, restarts = 0;

 private:
  struct Node {
    std::string name;
    double rate = 1;
    Duration offset{};
    std::uint64_t incarnation = 0;
    std::int64_t next_beat = 0;
    std::optional<PromiseBook> book;
    std::optional<Tenure> tenure;
  };
  struct Message {
    std::int64_t due;
    std::size_t from, to;
    std::uint64_t incarnation;
    Beat beat;
    std::optional<std::vector<Verdict>> verdicts;
  };

  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }
  Instant clock(const Node& node) const {
    return Instant(node.offset + Duration(static_cast<std::int64_t>(now_ * 1e3 * node.rate)));
  }
  void restart(Node& node) {
    ++restarts;
    node.incarnation = random_();
    node.book.emplace(timing_, clock(node));
    node.tenure.emplace(timing_.lease);
    node.tenure->set_members({.version = {1, 1}, .voters = {"a", "b", "c"}});
    node.tenure->want({kVip, 1});
  }
  void step(Node& node) {
    // The fence outlives the engine: a restart closes it, as the guard does.
    if (pick(8'000) == 0) restart(node);
    if (now_ < node.next_beat) return;
    node.next_beat = now_ + (pick(40) == 0 ? pick(2'000'000) : 30'000);  // at times it is stopped
    const Beat beat = node.tenure->beat(clock(node)).front();
    for (std::size_t to = 0; to < 3; ++to)
      send({.due = 0,
            .from = index(node),
            .to = to,
            .incarnation = node.incarnation,
            .beat = beat,
            .verdicts = {}});
  }
  std::size_t index(const Node& node) const { return static_cast<std::size_t>(&node - nodes_); }
  void send(Message message) {
    if (message.from != message.to && pick(5) == 0) return;
    message.due = now_ + (message.from == message.to ? 0
                          : pick(20) == 0            ? pick(500'000)
                                                     : pick(3'000));
    flying_.push_back(std::move(message));
  }
  void deliver() {
    std::vector<Message> due;
    std::erase_if(flying_, [&](Message& message) {
      if (message.due > now_) return false;
      due.push_back(std::move(message));
      return true;
    });
    for (Message& message : due) {
      Node& to = nodes_[message.to];
      if (message.verdicts) {
        if (to.incarnation == message.incarnation)
          to.tenure->answered(nodes_[message.from].name, message.beat.sequence, *message.verdicts);
        continue;
      }
      std::vector<Verdict> verdicts;
      for (const Claim& claim : message.beat.claims)
        verdicts.push_back(to.book->claim(clock(to),
                                          {nodes_[message.from].name, message.incarnation},
                                          message.beat.lease, claim));
      send({.due = 0,
            .from = message.to,
            .to = message.from,
            .incarnation = message.incarnation,
            .beat = message.beat,
            .verdicts = verdicts});
    }
  }
  void judge() {
    int holders = 0;
    for (const Node& node : nodes_) {
      const auto deadline = node.tenure->deadline(kVip);
      if (!deadline || clock(node) >= *deadline) continue;
      ++holders;
      if (last_ != &node) ++changes;
      last_ = &node;
    }
    if (holders > 1) ++two;
  }

  std::mt19937_64 random_;
  Timing timing_;
  std::int64_t now_ = 0;
  Node nodes_[3];
  std::vector<Message> flying_;
  const Node* last_ = nullptr;
};

TEST(QuorumLease, NeverTwoHolders) {
  int changes = 0, restarts = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Storm storm(seed);
    storm.run();
    EXPECT_EQ(storm.two, 0) << "seed " << seed;
    changes += storm.changes;
    restarts += storm.restarts;
  }
  EXPECT_GT(changes, 200);  // the VIP really moved
  EXPECT_GT(restarts, 200);
}

}  // namespace
}  // namespace fairlead::vip
