#include "api/apiserver/seats.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead::apiserver {
namespace {

identity::User user(std::string name, std::string group) {
  return {.name = std::move(name),
          .uid = {},
          .groups = {std::move(group), std::string(identity::kAuthenticatedGroup)},
          .extra = {}};
}

std::size_t fill(Seats& seats, const identity::User& who, std::vector<Seat>& held) {
  std::size_t got = 0;
  for (; Seat seat = seats.take(who); ++got) held.push_back(std::move(seat));
  return got;
}

// Nobody takes the last seats from those above them, and what is given back can be taken again.
TEST(Seats, EachHasTheirShare) {
  Seats seats(100);
  std::vector<Seat> held, of_one;
  EXPECT_EQ(fill(seats, identity::node_user("n1"), of_one), 10u);
  EXPECT_EQ(fill(seats, *identity::anonymous_user(), held), 10u);
  std::size_t nodes = 10;
  for (int i = 2; i < 20; ++i)
    nodes += fill(seats, identity::node_user("n" + std::to_string(i)), held);
  EXPECT_EQ(nodes, 80u);
  EXPECT_EQ(fill(seats, user("c", std::string(identity::kControllersGroup)), held), 0u);
  EXPECT_FALSE(seats.full());
  EXPECT_EQ(fill(seats, user("a", std::string(identity::kMastersGroup)), held), 10u);
  EXPECT_TRUE(seats.full());
  of_one.clear();
  EXPECT_EQ(seats.taken(), 90u);
  EXPECT_EQ(fill(seats, user("c", std::string(identity::kControllersGroup)), held), 10u);
  held.clear();
  EXPECT_EQ(seats.taken(), 0u);
}

// With very few seats everyone has at least one to try.
TEST(Seats, AtLeastOne) {
  Seats seats(2);
  std::vector<Seat> held;
  EXPECT_EQ(fill(seats, identity::node_user("n1"), held), 1u);
  EXPECT_EQ(fill(seats, user("a", std::string(identity::kMastersGroup)), held), 1u);
}

// However many users come by, few are remembered, and none that has a seat is forgotten.
TEST(Seats, RemembersFewUsers) {
  Seats seats(1000);
  const Seat kept = seats.take(user("kept", "g"));
  for (int i = 0; i < 30'000; ++i) EXPECT_TRUE(seats.take(user("u" + std::to_string(i), "g")));
  EXPECT_EQ(seats.taken(), 1u);
}

}  // namespace
}  // namespace fairlead::apiserver
