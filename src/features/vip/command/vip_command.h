// `fairlead vip`: the subcommand with its own subcommands, flags and examples.
#pragma once

namespace CLI {
class App;
}

namespace fairlead::vip {

// `exit_status` is what the process ends with once the command has run.
void add_vip_command(CLI::App& app, int& exit_status);

}  // namespace fairlead::vip
