// The times of a quorum lease (docs/design/020) and what follows from them. Pure.
#pragma once

#include <optional>
#include <string>

#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

struct Timing {
  // How long a holder may answer after the heartbeat that a majority granted.
  Duration lease = 300ms;
  // How often holders send heartbeats.
  Duration renew = 30ms;
  // How long packets that have passed the fence may wait in queues of the old holder.
  Duration margin = 20ms;
  // By how many millionths the clocks of two machines may differ in pace.
  std::int64_t drift_ppm = 1'000;

  auto operator<=>(const Timing&) const = default;
};

// The shortest leases that a shared store can keep (docs/design/022): a shorter one would end while
// a member of the store is replaced.
constexpr Duration kShortestEtcdLease = 1s;
constexpr Duration kShortestKubernetesLease = 2s;

// For how long a peer that grants a claim of this lease length grants nobody else: longer than the
// holder may answer, whichever clock runs faster.
Duration promise_length(const Timing& timing, Duration lease);

// What is wrong with one of the times.
struct TimingProblem {
  std::string field;  // "lease", "renew", "margin", "driftPpm"
  std::string value;
  std::string reason;
};

// Of times that are unsafe (no margin) or would not be stable (a lease that one lost heartbeat
// ends); nothing: they are good.
std::optional<TimingProblem> timing_problem(const Timing& timing);
// The same as an error: "lease 100ms: must …".
Result<> check(const Timing& timing);

}  // namespace fairlead::vip
