// The command line of `fairlead`: every command with its flags, and what is said to a line that is
// none. What a command does is in its own file (commands.h).
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fairlead::program {

// `exit_status` is what the process ends with once a command has run.
void build_commands(CLI::App& app, int& exit_status);

// Runs what `words` (without the program's name) ask for and returns the exit status. Help goes to
// `out`; what is wrong with the words, and where to read on, to `err`.
int run_command_line(std::vector<std::string> words, std::ostream& out, std::ostream& err);

}  // namespace fairlead::program
