// The subcommands of `fairlead`. Each adds itself with its flags and examples, and runs when
// chosen; `exit_status` is what the process then ends with.
#pragma once

namespace CLI {
class App;
}

namespace fairlead::program {

void add_server_command(CLI::App& app, int& exit_status);
void add_join_command(CLI::App& app, int& exit_status);
void add_bench_command(CLI::App& app, int& exit_status);

}  // namespace fairlead::program
