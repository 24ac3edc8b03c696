// `fairlead vip tune`: measures through the running agent, and proposes times for the election.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::vip {

void add_tune(CLI::App& vip, int& exit_status);

}  // namespace fairlead::vip
