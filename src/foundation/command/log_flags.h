// The flags of the log, the same for every command that runs for long.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace fairlead::command {

struct LogFlags {
  std::string format = "text";
  std::string level = "info";
};

// --log-format and --log-level. `flags` outlives the parsing.
void add_log_flags(CLI::App& command, LogFlags& flags);

// Before anything is logged.
void set_up_log(const LogFlags& flags);

}  // namespace fairlead::command
