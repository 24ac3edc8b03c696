#include "api/delegation/answer_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::delegation {
namespace {

Instant at(Duration since_start) { return Instant(since_start); }
identity::Digest key(int number) { return identity::sha256(std::to_string(number)); }

// An answer holds for its life and not an instant longer.
TEST(AnswerCache, AnswersEnd) {
  AnswerCache<int> cache(10, 5s);
  cache.put(key(1), 11, at(1s));
  ASSERT_TRUE(cache.find(key(1), at(6s - 1ns)));
  EXPECT_EQ(*cache.find(key(1), at(6s - 1ns)), 11);
  EXPECT_FALSE(cache.find(key(1), at(6s)));
  EXPECT_FALSE(cache.find(key(2), at(1s)));
}

// A newer answer counts, and starts its life anew.
TEST(AnswerCache, NewerReplacesOlder) {
  AnswerCache<int> cache(10, 5s);
  cache.put(key(1), 11, at(0s));
  cache.put(key(1), 12, at(4s));
  EXPECT_EQ(cache.size(), 1u);
  ASSERT_TRUE(cache.find(key(1), at(8s)));
  EXPECT_EQ(*cache.find(key(1), at(8s)), 12);
  cache.erase(key(1));
  EXPECT_FALSE(cache.find(key(1), at(8s)));
}

// However many different questions come, memory is bounded, and the oldest answer goes first.
TEST(AnswerCache, Bounded) {
  AnswerCache<int> cache(3, 5s);
  for (int i = 0; i < 1000; ++i) cache.put(key(i), i, at(1ms * i));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_FALSE(cache.find(key(996), at(1s)));
  for (int i = 997; i < 1000; ++i) EXPECT_TRUE(cache.find(key(i), at(1s))) << i;
  // Answered anew, it is the youngest.
  cache.put(key(997), 1, at(1s));
  cache.put(key(1), 1, at(1s));
  EXPECT_TRUE(cache.find(key(997), at(1s)));
  EXPECT_FALSE(cache.find(key(998), at(1s)));
}

// What ended is not kept until the bound is reached.
TEST(AnswerCache, EndedAnswersAreFreed) {
  AnswerCache<int> cache(1000, 5s);
  for (int i = 0; i < 100; ++i) cache.put(key(i), i, at(0s));
  cache.put(key(100), 100, at(5s));
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace fairlead::delegation
