// Moment: a point in the world's own time, which only the world and the tests see. Machines see
// their Instant and WallTime, and those are made from it with a rate and an offset.
#pragma once

#include "foundation/runtime/time.h"

namespace fairlead::sim {

struct WorldClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WorldClock>;
  static constexpr bool is_steady = true;
};
using Moment = WorldClock::time_point;  // zero: the world began

}  // namespace fairlead::sim
