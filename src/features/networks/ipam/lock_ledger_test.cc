// Locks through their lives: held, idle, held again, released, gone.
#include "features/networks/ipam/lock_ledger.h"

#include <gtest/gtest.h>

namespace fairlead::ipam {
namespace {

constexpr Vni kVni = 7;
using Keys = std::vector<std::string>;

LockFacts lock(std::string name, std::string_view ip, store::Revision written) {
  LockFacts facts;
  facts.namespace_name = "ns";
  facts.name = std::move(name);
  facts.owner = "uid-a";
  facts.owner_name = "a";
  facts.vni = kVni;
  facts.ip = *Ip::parse(ip);
  facts.place = {written, 0};
  return facts;
}

LockFacts released(LockFacts facts, store::Revision at) {
  facts.deleting = true;
  facts.awaits = {"n1"};
  facts.place = {at, 1};
  facts.released = at;
  facts.released_at = {at, 0};
  return facts;
}

Keys keys(const std::vector<const LockFacts*>& locks) {
  Keys all;
  for (const LockFacts* one : locks) all.push_back(one->key());
  return all;
}

// A lock is in the list of its state and in no other, and known by its address and its owner until
// it is gone.
TEST(LockLedger, FollowsALockThroughItsLife) {
  LockLedger ledger;
  const LockFacts held = lock("x", "10.0.0.5", 3);
  LockFacts idle = held, again = held;
  idle.idle = true;
  idle.place = {4, 0};
  again.regained = true;
  again.place = {5, 0};
  const struct {
    const char* state;
    std::optional<LockFacts> now;
    Keys held, idle, released;
  } life[] = {
      {"held", held, {"ns/x"}, {}, {}},        {"idle", idle, {"ns/x"}, {"ns/x"}, {}},
      {"held again", again, {"ns/x"}, {}, {}}, {"released", released(held, 6), {}, {}, {"ns/x"}},
      {"gone", std::nullopt, {}, {}, {}},
  };
  for (const auto& step : life) {
    SCOPED_TRACE(step.state);
    ledger.set_lock("ns/x", step.now);
    EXPECT_EQ(keys(ledger.held_since(kVni, 0)), step.held);
    EXPECT_EQ(keys(ledger.idle(kVni)), step.idle);
    EXPECT_EQ(keys(ledger.released(kVni)), step.released);
    EXPECT_EQ(keys(ledger.released(0)), step.released);
    EXPECT_EQ(ledger.networks_with_released().size(), step.released.size());
    EXPECT_EQ(ledger.lock("ns/x") != nullptr, step.now.has_value());
    EXPECT_EQ(ledger.lock_at(kVni, held.ip), ledger.lock("ns/x"));
    EXPECT_EQ(ledger.locks_of("uid-a").size(), step.now.has_value());
    EXPECT_EQ(ledger.holds_addresses(kVni, "ns"), step.now.has_value());
    EXPECT_EQ(ledger.namespaces_holding(kVni).size(), step.now.has_value());
  }
}

// The namespace holds the network until its last lock is gone; the other network is another's.
TEST(LockLedger, NamespacesHoldNetworks) {
  LockLedger ledger;
  ledger.set_lock("ns/x", lock("x", "10.0.0.5", 3));
  ledger.set_lock("ns/y", lock("y", "10.0.0.6", 4));
  EXPECT_FALSE(ledger.holds_addresses(kVni + 1, "ns"));
  EXPECT_FALSE(ledger.holds_addresses(kVni, "other"));
  EXPECT_EQ(ledger.set_lock("ns/x", std::nullopt)->name, "x");
  EXPECT_TRUE(ledger.holds_addresses(kVni, "ns"));
  ledger.set_lock("ns/y", std::nullopt);
  EXPECT_FALSE(ledger.holds_addresses(kVni, "ns"));
  EXPECT_FALSE(ledger.set_lock("ns/y", std::nullopt));
}

TEST(LockLedger, HeldLocksAreKnownByWhenTheyWereWritten) {
  LockLedger ledger;
  ledger.set_lock("ns/new", lock("new", "10.0.0.5", 9));
  ledger.set_lock("ns/old", lock("old", "10.0.0.6", 3));
  EXPECT_EQ(keys(ledger.held_since(kVni, 2)), (Keys{"ns/old", "ns/new"}));
  EXPECT_EQ(keys(ledger.held_since(kVni, 3)), Keys{"ns/new"});
  EXPECT_EQ(keys(ledger.held_since(kVni, 9)), Keys{});
  EXPECT_EQ(keys(ledger.held_since(kVni + 1, 0)), Keys{});
}

// A lock was released at the very change of its attachment, if that was seen; writing it again does
// not move the moment.
TEST(LockLedger, QuarantineBeginsWithTheChangeOfTheAttachment) {
  LockLedger ledger;
  const auto released_at = [&] { return ledger.lock("ns/x")->released_at; };
  ledger.set_lock("ns/x", released(lock("x", "10.0.0.5", 3), 6));
  EXPECT_EQ(released_at(), (store::Place{6, 0}));  // nothing was seen: when the revision began

  ledger.set_lock("ns/x", lock("x", "10.0.0.5", 7));
  ledger.note_attachment_change("uid-a", {8, 4});
  ledger.note_attachment_change("uid-b", {8, 5});
  ledger.set_lock("ns/x", released(lock("x", "10.0.0.5", 7), 8));
  EXPECT_EQ(released_at(), (store::Place{8, 4}));

  ledger.note_attachment_change("uid-a", {9, 2});
  ledger.set_lock("ns/x", released(lock("x", "10.0.0.5", 9), 8));
  EXPECT_EQ(released_at(), (store::Place{8, 4}));
}

// A lock that belongs to somebody else from one event to the next is not its first owner's any
// more.
TEST(LockLedger, ALockHasOneOwner) {
  LockLedger ledger;
  ledger.set_lock("ns/x", lock("x", "10.0.0.5", 3));
  LockFacts other = lock("x", "10.0.0.5", 4);
  other.owner = "uid-b";
  ledger.set_lock("ns/x", other);
  EXPECT_TRUE(ledger.locks_of("uid-a").empty());
  EXPECT_EQ(ledger.locks_of("uid-b"), std::set<std::string>{"ns/x"});
}

}  // namespace
}  // namespace fairlead::ipam
