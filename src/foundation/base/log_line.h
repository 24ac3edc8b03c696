// Log lines for whoever writes them elsewhere than on standard error (log.h).
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/log.h"

namespace fairlead::log {

Format format();
// The line that write() would write, with its end.
std::string line(Level level, std::string_view message, Fields fields);

}  // namespace fairlead::log
