// Text in double quotes as Go's %q writes it, which is how Kubernetes' messages quote names.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::apimachinery {

std::string quoted(std::string_view text);

}  // namespace fairlead::apimachinery
