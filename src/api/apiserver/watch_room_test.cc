#include "api/apiserver/watch_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace fairlead::apiserver {
namespace {

identity::User administrator() {
  return {
      .name = "admin",
      .uid = {},
      .groups = {std::string(identity::kMastersGroup), std::string(identity::kAuthenticatedGroup)},
      .extra = {}};
}

// A watch as the room sees it.
struct Holder {
  Holder(WatchRoom& room, const identity::User& user) : hold(room.account(user), signal) {}
  runtime::Signal signal;
  RoomHold hold;
};

Bytes text(std::size_t size) { return Bytes(std::string(size, 'x')); }

// What is sent counts until nobody has the bytes any more, slices of them included.
TEST(WatchRoom, BytesCarryTheirCharge) {
  WatchRoom room(1000);
  Holder watch(room, administrator());
  ASSERT_TRUE(watch.hold.ask(300));
  ASSERT_TRUE(watch.hold.extend(100));
  EXPECT_EQ(room.taken(), 400u);
  watch.hold.keep(250);
  std::optional<Bytes> sent = watch.hold.charge(text(250));
  EXPECT_EQ(sent->view(), std::string(250, 'x'));
  std::optional<Bytes> slice = sent->slice(200, 50);
  sent.reset();
  EXPECT_EQ(room.taken(), 250u);
  ASSERT_TRUE(watch.hold.ask(10));
  EXPECT_EQ(room.taken(), 260u);
  slice.reset();
  EXPECT_EQ(room.taken(), 10u);
  watch.hold.keep(0);
  EXPECT_EQ(room.taken(), 0u);
}

// Bytes may be with a connection when the room and its watches are gone.
TEST(WatchRoom, BytesMayOutliveIt) {
  Bytes sent;
  {
    WatchRoom room(1000);
    Holder watch(room, administrator());
    ASSERT_TRUE(watch.hold.ask(500));
    sent = watch.hold.charge(text(500));
  }
  EXPECT_EQ(sent.size(), 500u);
}

// In order of arrival; one with little to ask for does not pass one that waits.
TEST(WatchRoom, ServesInTurn) {
  WatchRoom room(1000);
  Holder first(room, administrator()), large(room, administrator()), small(room, administrator());
  ASSERT_TRUE(first.hold.ask(900));
  std::optional<Bytes> sent = first.hold.charge(text(900));
  EXPECT_FALSE(large.hold.ask(600));
  EXPECT_FALSE(small.hold.ask(50));
  EXPECT_FALSE(small.hold.ask(50)) << "asking again does not help";
  EXPECT_FALSE(first.hold.extend(1)) << "who was served takes no more while others wait";
  EXPECT_EQ(room.waits(), 2u);
  sent.reset();
  EXPECT_EQ(room.taken(), 650u);
  EXPECT_TRUE(large.hold.ask(600));
  EXPECT_TRUE(small.hold.ask(50));
}

// A node has a tenth, all nodes four fifths. Who waits for their own share holds up nobody else.
TEST(WatchRoom, ANodesShareIsItsOwn) {
  WatchRoom room(1000);
  std::vector<std::unique_ptr<Holder>> greedy;
  std::vector<Bytes> unread;
  for (int i = 0; i < 20; ++i) {
    greedy.push_back(std::make_unique<Holder>(room, identity::node_user("greedy")));
    if (greedy.back()->hold.ask(40)) unread.push_back(greedy.back()->hold.charge(text(40)));
  }
  EXPECT_EQ(room.taken(), 80u);
  Holder other(room, identity::node_user("other"));
  EXPECT_TRUE(other.hold.ask(100));

  // All nodes together: the administrator is served, the last node when another gives back.
  std::vector<std::unique_ptr<Holder>> rest;
  for (int i = 0; i < 7; ++i) {
    rest.push_back(std::make_unique<Holder>(room, identity::node_user("n" + std::to_string(i))));
    EXPECT_EQ(rest.back()->hold.ask(100), i < 6);
  }
  EXPECT_EQ(room.taken(), 780u);
  Holder admin(room, administrator());
  EXPECT_TRUE(admin.hold.ask(200));
  unread.clear();
  EXPECT_TRUE(rest.back()->hold.ask(100)) << "it waited longer than the greedy node's next";
}

// More than a user may ever have is granted when the user has nothing else.
TEST(WatchRoom, WhatIsTooLargeComesAlone) {
  WatchRoom room(1000);
  Holder one(room, identity::node_user("n")), two(room, identity::node_user("n"));
  ASSERT_TRUE(one.hold.ask(10));
  EXPECT_FALSE(two.hold.ask(5000));
  one.hold.keep(0);
  EXPECT_TRUE(two.hold.ask(5000));
  EXPECT_EQ(room.taken(), 100u);
}

// Who leaves while waiting lets those behind pass.
TEST(WatchRoom, LeavingTheLineLetsOthersPass) {
  WatchRoom room(1000);
  Holder first(room, administrator()), small(room, administrator());
  auto large = std::make_unique<Holder>(room, administrator());
  ASSERT_TRUE(first.hold.ask(900));
  EXPECT_FALSE(large->hold.ask(600));
  EXPECT_FALSE(small.hold.ask(50));
  large.reset();
  EXPECT_EQ(room.taken(), 950u);
  EXPECT_TRUE(small.hold.ask(50));
}

}  // namespace
}  // namespace fairlead::apiserver
