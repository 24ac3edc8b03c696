#include "features/vip/election/placement.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

Ip vip(int number) { return Ip::v4(0x0a000000u + static_cast<std::uint32_t>(number)); }
constexpr Instant kNow{1h};

struct World : PlacementView {
  World(const std::vector<std::string>& names, int count) {
    for (int i = 1; i <= count; ++i) vips[vip(i)] = {};
    for (const std::string& name : names)
      for (int i = 1; i <= count; ++i) nodes[name].candidates[vip(i)] = {};
  }
  void hold(int number, const std::string& node) {
    table[vip(number)] = {.node = node, .epoch = 1};
  }
  // "1>b 2>c"
  std::string moves(Instant now = kNow) const {
    std::string text;
    for (const Move& move : place(*this, now)) {
      const int number = static_cast<int>(move.vip.v4_bits() - 0x0a000000u);
      text += (text.empty() ? "" : " ") + std::to_string(number) + ">" + move.to;
    }
    return text;
  }
  // Carries out moves until none is left.
  void settle() {
    for (int i = 0; i < 1'000; ++i) {
      const std::vector<Move> all = place(*this, kNow);
      if (all.empty()) return;
      for (const Move& move : all) table[move.vip].node = move.to;
    }
    FAIL() << "it never settles";
  }
  int count(const std::string& node) const {
    int number = 0;
    for (const auto& [address, row] : table) number += row.node == node;
    return number;
  }
};

TEST(Placement, SpreadsWhatHasNoHolder) {
  World world({"a", "b", "c"}, 6);
  EXPECT_EQ(world.moves(), "1>a 2>b 3>c 4>a 5>b 6>c");
}

TEST(Placement, StaysWhereItIs) {
  World world({"a", "b", "c"}, 3);
  world.hold(1, "c");
  world.hold(2, "a");
  world.hold(3, "b");
  EXPECT_EQ(world.moves(), "");
}

TEST(Placement, ADeadNodesVipsAreSpreadOverTheOthers) {
  World world({"a", "b", "c"}, 6);
  world.settle();
  world.nodes["a"].alive = false;
  EXPECT_EQ(world.moves(), "1>b 4>c");
}

TEST(Placement, ANodeThatComesBackGetsItsShareAfterTheDelayAndOneByOne) {
  World world({"a", "b", "c"}, 6);
  for (int i = 1; i <= 6; ++i) {
    world.hold(i, i % 2 ? "b" : "c");
    world.nodes["a"].candidates[vip(i)].healthy_since = kNow;
  }
  EXPECT_EQ(world.moves(kNow + 9s), "");
  EXPECT_EQ(world.moves(kNow + 10s), "1>a");
  world.hold(1, "a");
  EXPECT_EQ(world.moves(kNow + 10s), "2>a");
  world.hold(2, "a");
  EXPECT_EQ(world.moves(kNow + 10s), "");
}

TEST(Placement, WithoutPreemptNothingMovesThatNeedNot) {
  World world({"a", "b"}, 2);
  for (auto& [address, options] : world.vips) options.preempt = false;
  world.hold(1, "b");
  world.hold(2, "b");
  world.nodes["a"].candidates[vip(1)].priority = 200;
  EXPECT_EQ(world.moves(), "");
}

TEST(Placement, ASickHolderGivesItUpToAHealthyOneAtOnce) {
  World world({"a", "b"}, 1);
  world.vips[vip(1)].preempt = false;
  world.hold(1, "a");
  world.nodes["a"].candidates[vip(1)].healthy = false;
  world.nodes["b"].candidates[vip(1)].healthy_since = kNow;
  EXPECT_EQ(world.moves(), "1>b");
  world.nodes["b"].candidates[vip(1)].healthy = false;
  EXPECT_EQ(world.moves(), "");  // all are sick: one keeps it
  world.nodes["a"].alive = false;
  EXPECT_EQ(world.moves(), "1>b");
}

TEST(Placement, PriorityThenPreferenceThenHand) {
  World world({"a", "b", "c"}, 1);
  world.hold(1, "a");
  world.nodes["b"].candidates[vip(1)].priority = 110;
  EXPECT_EQ(world.moves(), "1>b");
  world.vips[vip(1)].preferred = "c";
  EXPECT_EQ(world.moves(), "1>c");
  world.by_hand[vip(1)] = "a";
  EXPECT_EQ(world.moves(), "");
  world.hold(1, "c");
  EXPECT_EQ(world.moves(), "1>a");
}

TEST(Placement, AGroupMovesAsOne) {
  World world({"a", "b"}, 4);
  world.vips[vip(1)].group = world.vips[vip(2)].group = "g";
  world.settle();
  EXPECT_EQ(world.table[vip(1)].node, world.table[vip(2)].node);
  EXPECT_EQ(world.count("a"), 2);
  const std::string holder = world.table[vip(1)].node;
  world.nodes[holder].candidates[vip(2)].healthy = false;  // of one of them
  world.settle();
  EXPECT_NE(world.table[vip(1)].node, holder);
  EXPECT_EQ(world.table[vip(1)].node, world.table[vip(2)].node);
}

TEST(Placement, ThoseThatAreToBeApartAreUnlessThereAreTooFewNodes) {
  World world({"a", "b"}, 3);
  for (auto& [address, options] : world.vips) options.apart = "dns";
  world.vips[vip(3)].preferred = "a";
  world.settle();
  EXPECT_EQ(world.count("a") + world.count("b"), 3);
  EXPECT_GE(world.count("a"), 1);
  EXPECT_GE(world.count("b"), 1);
  world.nodes["b"].alive = false;
  world.settle();
  EXPECT_EQ(world.count("a"), 3);
}

TEST(Placement, ANodeWithoutTheVipIsNotAskedToHoldIt) {
  World world({"a", "b"}, 2);
  world.nodes["a"].candidates.erase(vip(1));
  EXPECT_EQ(world.moves(), "1>b 2>a");
  world.nodes.erase("b");
  EXPECT_EQ(world.moves(), "2>a");
}

// Whatever is asked for, placement comes to rest and is then what a second look would do.
TEST(Placement, AlwaysSettles) {
  std::uint64_t state = 7;
  const auto pick = [&](std::uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 500; ++round) {
    World world({"a", "b", "c", "d"}, 12);
    for (auto& [address, options] : world.vips) {
      if (pick(3) == 0) options.group = pick(2) ? "g" : "h";
      if (pick(3) == 0) options.apart = pick(2) ? "x" : "y";
      if (pick(4) == 0) options.preferred = pick(2) ? "a" : "nobody";
      options.preempt = pick(4) != 0;
      if (pick(5) == 0) world.by_hand[address] = "b";
      if (pick(2)) world.table[address].node = std::string(1, static_cast<char>('a' + pick(5)));
    }
    for (auto& [name, node] : world.nodes) {
      node.alive = pick(5) != 0;
      for (auto& [address, candidate] : node.candidates) {
        candidate.healthy = pick(4) != 0;
        candidate.priority = 100 + static_cast<int>(pick(2)) * 10;
      }
    }
    world.settle();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace fairlead::vip
