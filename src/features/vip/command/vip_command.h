// `fairlead vip …`, and the hidden commands by which the agent starts guard and engine.
#pragma once

namespace CLI {
class App;
}

namespace fairlead::vip {

void add_vip_commands(CLI::App& app, int& exit_status);

}  // namespace fairlead::vip
