// The kinds of virtual networks, each described once: its fields, its checks, its columns and what
// a node may do with it.
#pragma once

#include <vector>

#include "api/resource/kind.h"

namespace fairlead::networks {

std::vector<resource::Kind> kinds();

}  // namespace fairlead::networks
