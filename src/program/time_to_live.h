// How long a join token lives, as people write it.
#pragma once

#include <optional>
#include <string>

#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::program {

// "90s", "30m", "24h", "7d", at most ten years; "0" is nothing: without end.
Result<std::optional<Duration>> parse_ttl(const std::string& text);

}  // namespace fairlead::program
