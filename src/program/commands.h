// The subcommands of `fairlead` that are mains of this folder; those of join, lab and bench are in
// the folders of that name. Each adds itself with its flags and examples, and runs when chosen;
// `exit_status` is what the process then ends with.
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace fairlead::program {

struct ServerFlags;

void add_server_command(CLI::App& app, int& exit_status);
void add_agent_command(CLI::App& app, int& exit_status);
void add_why_command(CLI::App& app, int& exit_status);
void add_status_command(CLI::App& app, int& exit_status);

// Below `server`. Flags that are the server's too may stand before or after the subcommand's name.
void add_backup_commands(CLI::App& server, std::shared_ptr<ServerFlags> flags, int& exit_status);
void add_token_command(CLI::App& server, std::shared_ptr<ServerFlags> flags, int& exit_status);
// --store and what belongs to it.
void add_store_flags(CLI::App& command, ServerFlags& flags);

}  // namespace fairlead::program
