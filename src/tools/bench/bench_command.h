// `fairlead bench`: the subcommand with its loads, their flags and examples.
#pragma once

namespace CLI {
class App;
}

namespace fairlead::bench {

// `exit_status` is what the process ends with once the command has run.
void add_bench_command(CLI::App& app, int& exit_status);

}  // namespace fairlead::bench
