#include "foundation/base/encoding.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead {
namespace {

// The vectors of RFC 4648 section 10, both ways.
TEST(Encoding, Base64Vectors) {
  const std::pair<std::string, std::string> vectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

// Every byte value survives each encoding, at every length modulo the group size.
TEST(Encoding, RoundTripsAllBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<char>(255 - i));
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
    EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
  }
  EXPECT_EQ(encode_base64("\xfb\xff"), "+/8=");
  EXPECT_EQ(encode_base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(encode_hex("\x0a\xff"), "0aff");
}

// A text that is not exactly what the encoder writes is refused, except for folded lines.
TEST(Encoding, RefusesMalformedText) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z", "Zg==Zg==", "Zh==", "Zm9=", "=",
                           "====", "Zm 9v", "Zm9v=", "Zm-v", "Zg=a"})
    EXPECT_FALSE(decode_base64(text).has_value()) << text;
  EXPECT_EQ(decode_base64("Zm9v\r\nYmFy\n"), "foobar");
  for (const char* text : {"Zg==", "Z", "Zm9v\n", "Zm+v", "Zh"})
    EXPECT_FALSE(decode_base64url(text).has_value()) << text;
}

// Percent coding: unreserved characters stand for themselves, escapes need two digits of either
// case.
TEST(Encoding, Percent) {
  EXPECT_EQ(encode_percent("a/b ä~"), "a%2Fb%20%C3%A4~");
  EXPECT_EQ(percent_escape("x%2f", 1), '/');
  EXPECT_EQ(percent_escape("%2F", 0), '/');
  for (const char* bad : {"%", "%4", "%zz", "%4%", "a41"})
    EXPECT_FALSE(percent_escape(bad, 0).has_value()) << bad;
}

}  // namespace
}  // namespace fairlead
