// What virtual networks are numbered by.
#pragma once

#include <cstdint>

namespace fairlead::networks {

inline constexpr std::int64_t kMaxVni = 16'777'215;  // 24 bits, as VXLAN carries them

}  // namespace fairlead::networks
