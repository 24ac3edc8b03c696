// Time as the product sees it. There is no clock here: `now` comes from Runtime or as a parameter.
#pragma once

#include <chrono>
#include <cstdint>

namespace fairlead {

using Duration = std::chrono::nanoseconds;

// A point on this machine's boot-time clock: never steps, goes on in suspend, comparable only here.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using Instant = BootClock::time_point;

// Civil time, for timestamps shown to people and for certificates. May step.
using WallTime = std::chrono::sys_time<Duration>;

using namespace std::chrono_literals;

}  // namespace fairlead
