#include "tools/bench/schedule.h"

#include <gtest/gtest.h>

#include <set>

namespace fairlead::bench {
namespace {

// An open loop asks at its rate, whatever the answers do.
TEST(Pace, IsEven) {
  Pace pace(Instant(5s), 4);
  EXPECT_TRUE(pace.open_loop());
  EXPECT_EQ(pace.next(), Instant(5s));
  EXPECT_EQ(pace.next(), Instant(5s + 250ms));
  for (int i = 2; i < 400; ++i) (void)pace.next();
  EXPECT_EQ(pace.next(), Instant(105s));
}

// Creates never name an object twice and begin after those that were made before.
TEST(Agenda, CreatesAreNew) {
  Agenda agenda(ApiSettings{.verb = Verb::create, .count = 3, .objects = 10});
  EXPECT_EQ(agenda.next(0)->object, 10u);
  EXPECT_EQ(agenda.next(1)->object, 11u);
  EXPECT_EQ(agenda.next(0)->object, 12u);
  EXPECT_FALSE(agenda.next(0));
  EXPECT_EQ(agenda.end(), 13u);
}

// Deletes end when every object is gone, also without a count.
TEST(Agenda, DeletesEnd) {
  Agenda agenda(ApiSettings{.verb = Verb::remove, .objects = 2});
  EXPECT_EQ(agenda.next(0)->object, 0u);
  EXPECT_EQ(agenda.next(0)->object, 1u);
  EXPECT_FALSE(agenda.next(0));
}

// Reads come past every object.
TEST(Agenda, GetsReachAll) {
  Agenda agenda(ApiSettings{.verb = Verb::get, .objects = 100});
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(agenda.next(0)->object);
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(*seen.rbegin(), 99u);
}

// Two workers never write the same object, and each uses only objects that exist.
TEST(Agenda, WritersKeepApart) {
  Agenda agenda(ApiSettings{.verb = Verb::patch, .connections = 4, .objects = 10});
  std::set<std::uint64_t> objects[4];
  for (int i = 0; i < 400; ++i)
    objects[i % 4].insert(agenda.next(static_cast<std::size_t>(i % 4))->object);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    for (const std::uint64_t object : objects[worker]) {
      EXPECT_EQ(object % 4, worker);
      EXPECT_LT(object, 10u);
    }
  }
}

// A mixed load deletes only what it has created, once, and never what others read.
TEST(Agenda, MixedDeletesItsOwn) {
  Agenda agenda(ApiSettings{.verb = Verb::mixed, .connections = 8, .objects = 20});
  std::set<std::uint64_t> created, deleted;
  for (int i = 0; i < 2'000; ++i) {
    const Operation operation = *agenda.next(static_cast<std::size_t>(i % 8));
    if (operation.verb == Verb::create) {
      EXPECT_TRUE(created.insert(operation.object).second);
    } else if (operation.verb == Verb::remove) {
      EXPECT_TRUE(created.contains(operation.object));
      EXPECT_TRUE(deleted.insert(operation.object).second);
    } else {
      EXPECT_LT(operation.object, 20u);
    }
  }
  EXPECT_EQ(created.size(), 300u);
  EXPECT_EQ(deleted.size(), 100u);
}

}  // namespace
}  // namespace fairlead::bench
