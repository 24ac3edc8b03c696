#include "foundation/base/share.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Whoever takes is bounded by their own share, by their kind's and by the whole, and what is
// refused takes nothing anywhere.
TEST(Share, IsBoundedAlongTheWholeChain) {
  Share whole(100);
  Share strangers(40, &whole);
  Share one(30, &strangers);
  Share other(30, &strangers);
  EXPECT_FALSE(one.take(31));
  EXPECT_TRUE(one.take(30));
  EXPECT_FALSE(other.take(11));
  EXPECT_EQ(other.taken(), 0u);
  EXPECT_EQ(whole.taken(), 30u);
  EXPECT_TRUE(other.take(10));
  EXPECT_TRUE(whole.take(60));
  EXPECT_FALSE(whole.take(1));
  one.give_back(30);
  EXPECT_EQ(strangers.taken(), 10u);
  EXPECT_EQ(whole.taken(), 70u);
}

// A huge amount does not wrap around.
TEST(Share, RefusesMoreThanAnythingHolds) {
  Share whole(100);
  EXPECT_TRUE(whole.take(1));
  EXPECT_FALSE(whole.take(static_cast<std::size_t>(-1)));
  EXPECT_FALSE(whole.take(100));
  EXPECT_TRUE(whole.take(99));
}

// A lease grows, shrinks, changes hands, and leaves nothing behind.
TEST(Lease, GivesBackWhatItHolds) {
  Share whole(100);
  Share small(10, &whole);
  {
    Lease lease(whole);
    EXPECT_TRUE(lease.resize(50));
    EXPECT_FALSE(lease.resize(101));
    EXPECT_EQ(lease.held(), 50u);
    EXPECT_FALSE(lease.move_to(small));
    EXPECT_EQ(whole.taken(), 50u);
    EXPECT_TRUE(lease.resize(10));
    EXPECT_TRUE(lease.move_to(small));
    EXPECT_EQ(small.taken(), 10u);
    EXPECT_EQ(whole.taken(), 10u);
  }
  EXPECT_EQ(whole.taken(), 0u);
  EXPECT_EQ(small.taken(), 0u);
}

}  // namespace
}  // namespace fairlead
