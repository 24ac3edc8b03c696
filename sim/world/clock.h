// The boot clock of one machine: world time seen at a rate of its own, from a start of its own.
// Pure integer arithmetic, so that it is exact and the same everywhere.
#pragma once

#include <cstdint>

#include "foundation/runtime/time.h"
#include "sim/world/moment.h"

namespace fairlead::sim {

class DriftingClock {
 public:
  // `rate_ppm`: how many millionths it runs fast (negative: slow). Within ±500,000.
  DriftingClock(Moment anchor, Instant reading, std::int64_t rate_ppm);

  Instant now(Moment world) const;
  // The first moment at which now() is `reading` or later.
  Moment when(Instant reading) const;

  std::int64_t rate_ppm() const { return rate_ppm_; }
  // The reading goes on without a step; only its pace changes.
  void set_rate(Moment world, std::int64_t rate_ppm);

 private:
  Moment anchor_;
  Instant reading_;
  std::int64_t rate_ppm_;
};

}  // namespace fairlead::sim
