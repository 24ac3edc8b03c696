// Names that Fairlead's own kinds share.
#pragma once

#include <string_view>

namespace fairlead::resource {

inline constexpr std::string_view kFairleadGroup = "fairlead.dev";
inline constexpr std::string_view kFairleadVersion = "v1alpha1";
inline constexpr std::string_view kFairleadApiVersion = "fairlead.dev/v1alpha1";

}  // namespace fairlead::resource
