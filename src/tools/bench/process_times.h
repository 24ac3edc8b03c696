// What another process has used, from /proc. The parsing is pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::bench {

struct ProcessFigures {
  Duration cpu{0};             // user and system
  std::uint64_t resident = 0;  // bytes
};

// The text of /proc/PID/stat; `ticks` per second and bytes of a page come from the system.
Result<ProcessFigures> parse_process_stat(std::string_view text, long ticks, long page);

Result<ProcessFigures> observe_process(runtime::Files& files, int pid);

}  // namespace fairlead::bench
