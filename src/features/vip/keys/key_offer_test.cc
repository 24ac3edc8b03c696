#include "features/vip/keys/key_offer.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

KeyOffer offer(const std::string& from, const std::string& to, char part) {
  return {.from = from, .to = to, .part = std::string(kKeyPartBytes, part), .refusal = {}};
}

TEST(KeyOffer, IsReadAsItWasWritten) {
  const KeyOffer refusal{.from = "b", .to = "a", .part = {}, .refusal = "no member"};
  for (const KeyOffer& one : {offer("a", "b", 'x'), refusal}) {
    const std::string bytes = encode(one);
    ASSERT_GE(bytes.size(), 2u);
    EXPECT_EQ(static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])) * 256 +
                  static_cast<unsigned char>(bytes[1]),
              bytes.size() - 2);
    const Result<KeyOffer> read = decode_offer(std::string_view(bytes).substr(2));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, one);
  }
}

TEST(KeyOffer, WhatDoesNotFitIsRefused) {
  KeyOffer small = offer("a", "b", 'x');
  small.part.pop_back();
  KeyOffer nameless = offer("", "b", 'x');
  KeyOffer long_name = offer(std::string(300, 'n'), "b", 'x');
  for (const KeyOffer& one : {small, nameless, long_name})
    EXPECT_FALSE(decode_offer(encode(one).substr(2)));
  EXPECT_FALSE(decode_offer(""));
  EXPECT_FALSE(decode_offer("GET / HTTP/1.1"));
}

// Every part and both names count, and which end dialed.
TEST(KeyOffer, TheKeyDependsOnBothEnds) {
  const std::string key = agree(offer("a", "b", 'x'), offer("b", "a", 'y'));
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(key, agree(offer("a", "b", 'x'), offer("b", "a", 'y')));
  EXPECT_NE(key, agree(offer("a", "b", 'z'), offer("b", "a", 'y')));
  EXPECT_NE(key, agree(offer("a", "b", 'x'), offer("b", "a", 'z')));
  EXPECT_NE(key, agree(offer("c", "b", 'x'), offer("b", "a", 'y')));
  EXPECT_NE(key, agree(offer("b", "a", 'y'), offer("a", "b", 'x')));
}

}  // namespace
}  // namespace fairlead::vip
