#include "foundation/http/message.h"

#include <gtest/gtest.h>

#include "foundation/http/gzip.h"

namespace fairlead::http {
namespace {

// Header names have no case; setting replaces every field of the name.
TEST(Headers, NamesHaveNoCase) {
  Headers headers{{"Accept", "a"}, {"X", "1"}, {"accept", "b"}};
  EXPECT_EQ(headers.get("ACCEPT"), "a");
  EXPECT_EQ(headers.all("accept").size(), 2u);
  headers.set("aCCept", "c");
  EXPECT_EQ(headers.size(), 2u);
  EXPECT_EQ(headers.get("accept"), "c");
  headers.remove("x");
  EXPECT_FALSE(headers.has("X"));
  EXPECT_EQ(headers.get("x"), "");
}

// A body is its pieces in order.
TEST(Response, BodyIsItsPieces) {
  Response response;
  response.body = {Bytes(std::string("ab")), Bytes::literal("cd"), Bytes()};
  EXPECT_EQ(response.body_size(), 4u);
  EXPECT_EQ(response.body_text(), "abcd");
}

// Compressed pieces inflate to the same bytes, whatever the cuts on either side.
TEST(Gzip, RoundTrip) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text.append(std::to_string(i * 7919 % 10007)).append(",");
  const Bytes whole(text);
  std::vector<Bytes> pieces;
  for (std::size_t at = 0; at < text.size(); at += 1000) pieces.push_back(whole.slice(at, 1000));
  const auto packed = gzip(pieces, 1);
  ASSERT_TRUE(packed);
  EXPECT_LT(packed->size(), text.size());
  Gunzip gunzip(text.size());
  std::string out;
  for (std::size_t at = 0; at < packed->size(); at += 777) {
    const auto part = gunzip.inflate(std::string_view(*packed).substr(at, 777));
    ASSERT_TRUE(part) << part.error().to_string();
    out.append(*part);
  }
  EXPECT_TRUE(gunzip.complete());
  EXPECT_EQ(out, text);
}

// A bomb stops at the bound; garbage and cut streams are noticed.
TEST(Gzip, HostileInputIsBounded) {
  const std::vector<Bytes> zeros{Bytes(std::string(10 << 20, '\0'))};
  const auto bomb = gzip(zeros, 9);
  ASSERT_TRUE(bomb);
  Gunzip bounded(1 << 20);
  const auto burst = bounded.inflate(*bomb);
  ASSERT_FALSE(burst);
  EXPECT_EQ(burst.error().code, Code::exhausted);
  Gunzip garbage(1 << 20);
  const auto not_gzip = garbage.inflate("hello, this is not gzip");
  ASSERT_FALSE(not_gzip);
  EXPECT_EQ(not_gzip.error().code, Code::corrupt);
  Gunzip cut(20 << 20);
  ASSERT_TRUE(cut.inflate(std::string_view(*bomb).substr(0, bomb->size() / 2)));
  EXPECT_FALSE(cut.complete());
}

// q=0 forbids what is otherwise named or starred.
TEST(Gzip, AcceptEncoding) {
  EXPECT_TRUE(accepts_gzip("gzip"));
  EXPECT_TRUE(accepts_gzip("deflate, gzip;q=0.5"));
  EXPECT_TRUE(accepts_gzip("*"));
  EXPECT_FALSE(accepts_gzip(""));
  EXPECT_FALSE(accepts_gzip("deflate"));
  EXPECT_FALSE(accepts_gzip("gzip;q=0"));
  EXPECT_FALSE(accepts_gzip("gzip; q=0.000"));
}

}  // namespace
}  // namespace fairlead::http
