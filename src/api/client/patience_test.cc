#include "api/client/patience.h"

#include <gtest/gtest.h>

namespace fairlead::client {
namespace {

// A server that does not answer is asked less and less often.
TEST(Patience, WaitsDoubleUpToALimit) {
  Patience patience;
  Instant now{};
  now += 1h;
  Duration wait{};
  for (const Duration expected :
       {800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms, 30000ms, 30000ms}) {
    wait = patience.wait(now, std::nullopt, 0);
    EXPECT_EQ(wait, expected);
    now += wait;
  }
  EXPECT_GT(patience.wait(now, std::nullopt, 999), wait);  // and not everybody at once
  EXPECT_EQ(patience.wait(now + 3min, std::nullopt, 0), Duration(800ms));
}

// Outages that come one after another, with a server that works in between, do not add up.
TEST(Patience, WhatHeldForAWhileIsForgiven) {
  Patience patience;
  Instant now{};
  now += 1h;
  for (int outage = 0; outage < 10; ++outage) {
    const Instant back = now + patience.wait(now, std::nullopt, 0);
    now = back + 10s;  // lost again
    EXPECT_EQ(patience.wait(now, back, 0), Duration(800ms)) << outage;
  }
}

// A server that takes everybody in and throws them out at once is not stormed.
TEST(Patience, WhatHeldForAMomentIsNot) {
  Patience patience;
  Instant now{};
  now += 1h;
  Duration wait{};
  for (int i = 0; i < 10; ++i) {
    wait = patience.wait(now, now - 100ms, 0);
    now += wait + 100ms;
  }
  EXPECT_EQ(wait, Duration(30s));
}

}  // namespace
}  // namespace fairlead::client
