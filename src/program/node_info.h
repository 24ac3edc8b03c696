// What this machine and its system are, as status.nodeInfo of its Node tells it.
#pragma once

#include "features/networks/agent/heartbeat.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::program {

// What cannot be read is left empty.
agent::NodeInfo read_node_info(runtime::Files& files);

// PRETTY_NAME of an os-release file; "Linux" if it has none. Pure.
std::string pretty_name(std::string_view os_release);

}  // namespace fairlead::program
