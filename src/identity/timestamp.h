// RFC 3339 timestamps in whole seconds, UTC ("2026-01-31T12:00:00Z"), for identity's own files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/time.h"

namespace fairlead::identity {

std::string encode_timestamp(WallTime time);
Result<WallTime> parse_timestamp(std::string_view text);

}  // namespace fairlead::identity
