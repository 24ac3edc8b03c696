#include "features/vip/peers/seal.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

const SealEnd kA{"a", 1}, kB{"b", 2};

struct Pair {
  Seal a{"secret", kA, kB};
  Seal b{"secret", kB, kA};
};

TEST(Seal, IsReadByThePeerAlone) {
  Pair pair;
  const std::string datagram = pair.a.close("hello");
  EXPECT_EQ(datagram.size(), 5 + kSealOverhead);
  EXPECT_EQ(datagram.find("hello"), std::string::npos);
  EXPECT_EQ(*pair.b.open(datagram), "hello");
  EXPECT_EQ(*pair.a.open(pair.b.close("")), "");
  EXPECT_FALSE(pair.a.open(pair.a.close("to itself")));
  EXPECT_FALSE(Seal("other", kB, kA).open(pair.a.close("x")));
  EXPECT_FALSE(Seal("secret", {"b", 3}, kA).open(pair.a.close("x")));  // started anew
  EXPECT_FALSE(Seal("secret", kB, {"a", 9}).open(pair.a.close("x")));
  EXPECT_FALSE(Seal("secret", {"c", 2}, kA).open(pair.a.close("x")));
}

TEST(Seal, NoBitMayChange) {
  Pair pair;
  const std::string datagram = pair.a.close("hello");
  for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
    std::string forged = datagram;
    forged[bit / 8] = static_cast<char>(forged[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(pair.b.open(forged)) << bit;
  }
  for (std::size_t size = 0; size < datagram.size(); ++size)
    EXPECT_FALSE(pair.b.open(datagram.substr(0, size)));
  EXPECT_TRUE(pair.b.open(datagram));  // forged ones did not move the window
}

TEST(Seal, EachIsAcceptedOnceAlsoOutOfOrder) {
  Pair pair;
  std::vector<std::string> datagrams;
  for (int i = 0; i < 100; ++i) datagrams.push_back(pair.a.close(std::to_string(i)));
  EXPECT_TRUE(pair.b.open(datagrams[50]));
  EXPECT_TRUE(pair.b.open(datagrams[10]));
  EXPECT_FALSE(pair.b.open(datagrams[10]));
  EXPECT_FALSE(pair.b.open(datagrams[50]));
  EXPECT_TRUE(pair.b.open(datagrams[99]));
  EXPECT_FALSE(pair.b.open(datagrams[20]));  // too old
  EXPECT_TRUE(pair.b.open(datagrams[36]));
  EXPECT_FALSE(pair.b.open(datagrams[36]));
}

TEST(Seal, NothingComesAfterTheLast) {
  Pair pair;
  const std::string farewell = pair.a.close_last("farewell");
  const std::string late = pair.a.close("late");
  EXPECT_TRUE(pair.b.open(pair.a.close("before")));
  EXPECT_EQ(*pair.b.open(farewell), "farewell");
  EXPECT_FALSE(pair.b.open(farewell));
  EXPECT_FALSE(pair.b.open(late));
}

}  // namespace
}  // namespace fairlead::vip
