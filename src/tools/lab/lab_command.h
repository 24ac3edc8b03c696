// `fairlead lab`: the subcommand with its flags and examples.
#pragma once

namespace CLI {
class App;
}

namespace fairlead::lab {

// `exit_status` is what the process ends with once the command has run.
void add_lab_command(CLI::App& app, int& exit_status);

}  // namespace fairlead::lab
