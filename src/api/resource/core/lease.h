// Where the Leases are that agents renew.
#pragma once

#include <string_view>

namespace fairlead::resource {

inline constexpr std::string_view kNodeLeaseNamespace = "fairlead-node-lease";
inline constexpr std::string_view kKubeNodeLeaseNamespace = "kube-node-lease";

}  // namespace fairlead::resource
