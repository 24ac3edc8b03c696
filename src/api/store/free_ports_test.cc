#include "api/store/free_ports_test.h"

#include <gtest/gtest.h>

namespace fairlead::store {
namespace {

// What one test has chosen no other gets, and no connection.
TEST(FreePorts, AreNobodyElses) {
  FreePorts ports;
  const std::uint16_t port = ports.take();
  EXPECT_LT(port, FreePorts::end());
  FreePorts others;
  EXPECT_FALSE(others.claim(port));
  EXPECT_FALSE(ports.claim(port));
}

// They are free again when the test that chose them is over.
TEST(FreePorts, AreGivenBack) {
  std::uint16_t port = 0;
  {
    FreePorts ports;
    port = ports.take();
  }
  FreePorts others;
  EXPECT_TRUE(others.claim(port));
}

// A port that something listens on is not free, whoever chose it.
TEST(FreePorts, ListenersAreSeen) {
  FreePorts ports;
  const std::uint16_t port = [&] {
    FreePorts forgotten;
    return forgotten.take();
  }();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(port);
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_FALSE(ports.claim(port));
  ::close(listener);
  EXPECT_TRUE(ports.claim(port));
}

}  // namespace
}  // namespace fairlead::store
