// What /version says.
#pragma once

#include <string_view>

#include "foundation/wire/json.h"

namespace fairlead::apiserver {

inline constexpr std::string_view kVersion = "0.1.0";

// The Kubernetes version whose wire behaviour is spoken; kubectl warns when it is far from its own.
Json version_document();

}  // namespace fairlead::apiserver
