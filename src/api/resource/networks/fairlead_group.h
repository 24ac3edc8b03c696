// Names and limits that Fairlead's own kinds share.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlead::resource {

inline constexpr std::string_view kFairleadGroup = "fairlead.dev";
inline constexpr std::string_view kFairleadVersion = "v1alpha1";
inline constexpr std::string_view kFairleadApiVersion = "fairlead.dev/v1alpha1";
inline constexpr std::int64_t kMaxVni = 16'777'215;  // 24 bits, as VXLAN carries them

}  // namespace fairlead::resource
