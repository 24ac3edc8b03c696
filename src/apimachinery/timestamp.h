// Times as the API writes them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "resource/kind.h"

namespace fairlead::apimachinery {

std::string format_time(resource::Moment moment);            // 2024-05-01T12:00:00Z
std::string format_micro_time(resource::Moment moment);      // 2024-05-01T12:00:00.000000Z
Result<resource::Moment> parse_time(std::string_view text);  // RFC 3339, any fraction, any offset

}  // namespace fairlead::apimachinery
