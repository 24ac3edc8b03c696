// Log lines as text, for callers that write them elsewhere than to standard error (log.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "foundation/base/log.h"

namespace fairlead::log {

Format format();
// The line that write() would write, with its end.
std::string line(Level level, std::string_view message, std::span<const LogField> fields);

}  // namespace fairlead::log
