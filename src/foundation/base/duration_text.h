// Durations as people write them in flags and files. Pure.
#pragma once

#include <chrono>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead {

// "10s", "1m30s", "250ms", or plain seconds.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace fairlead
