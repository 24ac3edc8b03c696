#include "foundation/base/key_map.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Of the reference implementation with one round per word and three at the end, key 00 01 … 0f.
TEST(KeyMap, SipHashIsTheReferences) {
  const HashSecret secret{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(siphash13("", secret), 0xabac0158050fc4dcu);
  EXPECT_EQ(siphash13("a", secret), 0x1c2697ab786a6237u);
  EXPECT_EQ(siphash13("12345678", secret), 0x11a8ebb5cd0da9ceu);
  EXPECT_EQ(siphash13("default/attachment-1", secret), 0x6746671425c5b1a6u);
}

TEST(KeyMap, FindsByView) {
  KeyMap<int> map;
  for (int i = 0; i < 1000; ++i) map["default/a" + std::to_string(i)] = i;
  EXPECT_EQ(map.find(std::string_view("default/a77"))->second, 77);
  EXPECT_EQ(map.find(std::string_view("default/a1000")), map.end());
}

}  // namespace
}  // namespace fairlead
