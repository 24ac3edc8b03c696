// The answer to /version.
#pragma once

#include <string_view>

#include "foundation/wire/json.h"

namespace fairlead::apiserver {

inline constexpr std::string_view kVersion = "0.1.0";

// The Kubernetes version whose wire behaviour this server has; kubectl warns when its own is far
// off.
Json version_document();

}  // namespace fairlead::apiserver
