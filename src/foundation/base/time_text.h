// Points in civil time and spans of time as text, the way Kubernetes' API and kubectl write them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead {

using CivilTime = std::chrono::sys_time<std::chrono::nanoseconds>;

// "2026-11-15T22:10:00Z": creationTimestamp and the like. Fractions are cut off.
std::string rfc3339(CivilTime time);
// "2026-11-15T22:10:00.000123Z", always six digits: MicroTime of Leases and Events.
std::string rfc3339_micro(CivilTime time);

// Either form, with any number of fraction digits up to nine and any offset; strict otherwise.
// Fails with invalid, also outside the years 1678 to 2261 that nanoseconds can count.
Result<CivilTime> parse_rfc3339(std::string_view text);

// "45s", "5m10s", "3h", "5d2h", "2y10d": an age at the precision kubectl shows it. "<invalid>" for
// an age that lies in the future by more than a second.
std::string human_duration(std::chrono::nanoseconds duration);

}  // namespace fairlead
