#include "features/vip/election/timing.h"

#include <fmt/format.h>

namespace fairlead::vip {
namespace {

constexpr int kFewestRenewals = 4;  // in a lease: three heartbeats may be lost or late
constexpr Duration kShortestRenew = 5ms;
constexpr Duration kShortestMargin = 5ms;
constexpr Duration kLongestLease = 60s;
constexpr std::int64_t kMostDrift = 100'000;

std::string text(Duration duration) {
  return fmt::format("{}ms", std::chrono::duration<double, std::milli>(duration).count());
}

}  // namespace

Duration promise_length(const Timing& timing, Duration lease) {
  const auto drift = (lease.count() * timing.drift_ppm + 999'999) / 1'000'000;
  return lease + Duration(drift) + timing.margin;
}

Result<> check(const Timing& timing) {
  const auto refuse = [](const char* field, Duration value, std::string why) {
    return fail(Code::invalid, fmt::format("{} {}: {}", field, text(value), why));
  };
  if (timing.lease > kLongestLease)
    return refuse("lease", timing.lease, "must not be longer than " + text(kLongestLease));
  if (timing.renew < kShortestRenew)
    return refuse("renew", timing.renew, "must be at least " + text(kShortestRenew));
  if (timing.lease < kFewestRenewals * timing.renew)
    return refuse("lease", timing.lease,
                  fmt::format("must be at least {} times renew ({}), or one late heartbeat ends it",
                              kFewestRenewals, text(timing.renew)));
  if (timing.margin < kShortestMargin)
    return refuse("margin", timing.margin,
                  "must be at least " + text(kShortestMargin) +
                      ": packets of the old holder may still wait in its queues");
  if (timing.drift_ppm < 0 || timing.drift_ppm > kMostDrift)
    return fail(Code::invalid,
                fmt::format("driftPPM {}: must be between 0 and {}", timing.drift_ppm, kMostDrift));
  return {};
}

}  // namespace fairlead::vip
