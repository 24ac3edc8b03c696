// What the processes of virtual IPs do so that neither busy processors nor a lack of memory delay
// them.
#pragma once

#include <string>
#include <vector>

namespace fairlead::vip {

// Runs this thread, and those that it starts, before all ordinary ones, and keeps what the process
// touches from now on in memory. Returns what could not be had; the process goes on without it.
std::vector<std::string> become_urgent(int priority);

}  // namespace fairlead::vip
