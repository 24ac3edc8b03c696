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

std::optional<TimingProblem> timing_problem(const Timing& timing) {
  const auto wrong = [](const char* field, Duration value, std::string reason) {
    return TimingProblem{.field = field, .value = text(value), .reason = std::move(reason)};
  };
  if (timing.lease > kLongestLease)
    return wrong("lease", timing.lease, "must not be longer than " + text(kLongestLease));
  if (timing.renew < kShortestRenew)
    return wrong("renew", timing.renew, "must be at least " + text(kShortestRenew));
  if (timing.lease < kFewestRenewals * timing.renew)
    return wrong("lease", timing.lease,
                 fmt::format("must be at least {} times renew ({}), or one late heartbeat ends it",
                             kFewestRenewals, text(timing.renew)));
  if (timing.margin < kShortestMargin)
    return wrong("margin", timing.margin,
                 "must be at least " + text(kShortestMargin) +
                     ": packets of the old holder may still wait in its queues");
  if (timing.drift_ppm < 0 || timing.drift_ppm > kMostDrift)
    return TimingProblem{.field = "driftPpm",
                         .value = std::to_string(timing.drift_ppm),
                         .reason = fmt::format("must be between 0 and {}", kMostDrift)};
  return std::nullopt;
}

Result<> check(const Timing& timing) {
  const std::optional<TimingProblem> problem = timing_problem(timing);
  if (!problem) return {};
  return fail(Code::invalid,
              fmt::format("{} {}: {}", problem->field, problem->value, problem->reason));
}

}  // namespace fairlead::vip
