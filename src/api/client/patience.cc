#include "api/client/patience.h"

#include <algorithm>

namespace fairlead::client {
namespace {

constexpr Duration kFirstPause = 800ms;
constexpr Duration kLongestPause = 30s;
constexpr Duration kForgiveAfter = 2min;

}  // namespace

Duration Patience::wait(Instant now, std::optional<Instant> held_since, std::uint64_t random) {
  const bool held = held_since && now - *held_since > pause_;
  if (pause_ == Duration::zero() || held || now - last_failure_ > kForgiveAfter)
    pause_ = kFirstPause;
  last_failure_ = now;
  const Duration jitter = pause_ * static_cast<std::int64_t>(random % 1000) / 1000;
  const Duration wait = pause_ + jitter;
  pause_ = std::min(pause_ * 2, kLongestPause);
  return wait;
}

}  // namespace fairlead::client
