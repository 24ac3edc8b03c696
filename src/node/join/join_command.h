// `fairlead join`: the subcommand with its flags and examples.
#pragma once

namespace CLI {
class App;
}

namespace fairlead::join {

// `exit_status` is what the process ends with once the command has run.
void add_join_command(CLI::App& app, int& exit_status);

}  // namespace fairlead::join
