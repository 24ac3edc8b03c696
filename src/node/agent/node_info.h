// What this machine and its system are, as status.nodeInfo of its Node tells it.
#pragma once

#include <string_view>

#include "foundation/runtime/runtime.h"
#include "node/agent/heartbeat.h"

namespace fairlead::agent {

// What cannot be read is left empty. `version` is that of this program.
NodeInfo read_node_info(runtime::Files& files, std::string_view version);

// PRETTY_NAME of an os-release file; "Linux" if it has none. Pure.
std::string pretty_name(std::string_view os_release);

}  // namespace fairlead::agent
