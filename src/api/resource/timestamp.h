// Times in API objects. Pure: `now` is always a parameter.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/time_text.h"

namespace fairlead::resource {

using Moment = CivilTime;

// The age of the RFC 3339 time in `text`, as kubectl shows it; "<unknown>" when there is none.
std::string human_age(std::string_view text, Moment now);

}  // namespace fairlead::resource
