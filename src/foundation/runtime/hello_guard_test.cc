#include "foundation/runtime/hello_guard.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::runtime {
namespace {

std::string record(std::uint8_t type, std::string_view payload) {
  std::string out{static_cast<char>(type), 3, 1, static_cast<char>(payload.size() >> 8),
                  static_cast<char>(payload.size())};
  return out.append(payload);
}

std::string message(std::uint8_t type, std::size_t length, std::size_t sent) {
  std::string out{static_cast<char>(type), static_cast<char>(length >> 16),
                  static_cast<char>(length >> 8), static_cast<char>(length)};
  return out.append(sent, '\1');
}

bool admits(std::string_view bytes) {
  HelloGuard whole, single;
  bool one_by_one = true;
  for (const char byte : bytes) one_by_one = single.admit({&byte, 1});
  const bool at_once = whole.admit(bytes);
  EXPECT_EQ(at_once, one_by_one);
  return at_once;
}

// Real hellos pass, in one record or in several, alone or after another; what only claims to be
// long does not, however it arrives.
TEST(HelloGuard, RefusesWhatClaimsToBeLong) {
  const std::string hello = record(22, message(1, 500, 500));
  EXPECT_TRUE(admits(hello));
  EXPECT_TRUE(admits(record(22, message(1, 16'000, 16'000))));
  EXPECT_TRUE(admits(record(22, message(1, 500, 100)) + record(22, std::string(400, '\x7f'))));
  EXPECT_FALSE(admits(record(22, message(1, 131'000, 10))));
  EXPECT_FALSE(admits(record(22, message(1, 16'385, 0))));
  EXPECT_FALSE(admits(record(22, message(11, 0xffffff, 0))));
  EXPECT_FALSE(admits(record(22, "\1")));  // a header in pieces is nobody's
  // A second hello (after HelloRetryRequest), and messages in plain text as TLS 1.2 has them.
  EXPECT_TRUE(admits(hello + record(20, "\1") + hello));
  EXPECT_FALSE(admits(hello + record(20, "\1") + record(22, message(1, 131'000, 10))));
  EXPECT_FALSE(admits(hello + record(22, message(11, 131'000, 10))));
}

// What is encrypted, and what is no TLS, is left to OpenSSL.
TEST(HelloGuard, LooksNoFurtherThanItCan) {
  const std::string hello = record(22, message(1, 500, 500));
  EXPECT_TRUE(admits(hello + record(23, std::string(16'000, '\xff')) + record(22, "\1")));
  EXPECT_TRUE(admits("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(admits(""));
}

}  // namespace
}  // namespace fairlead::runtime
