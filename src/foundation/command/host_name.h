#pragma once

#include <string>

namespace fairlead::command {

// The name of this host in lower case, as names of nodes are; empty if it has none.
std::string own_host_name();

}  // namespace fairlead::command
