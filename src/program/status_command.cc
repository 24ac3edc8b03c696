// `fairlead status`: what the agent of this host does at present, as it says itself.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/wire/json.h"
#include "node/agent/admin_client.h"
#include "program/commands.h"
#include "program/status_text.h"

namespace fairlead::program {
namespace {

constexpr const char* kCommand = "fairlead status";

struct StatusFlags {
  std::string admin_socket;
  bool json = false;
};

int run(const StatusFlags& flags) {
  runtime::EpollRuntime runtime({.blocking_threads = 1});
  const Result<std::string> socket =
      agent::choose_admin_socket(runtime.files(), flags.admin_socket);
  if (!socket) return command::report(kCommand, socket.error());
  const Result<std::string> text =
      runtime.run_until_complete(agent::ask_agent(runtime, *socket, "/status"));
  if (!text) return command::report(kCommand, text.error());
  const Result<wire::ParsedJson> status = wire::parse_json(*text);
  if (!status) return command::report(kCommand, status.error());
  const std::string shown =
      flags.json ? wire::encode_json_pretty(status->value) + "\n" : status_text(status->value);
  std::fputs(shown.c_str(), stdout);
  return command::kDone;
}

}  // namespace

void add_status_command(CLI::App& app, int& exit_status) {
  CLI::App* command =
      app.add_subcommand("status", "Shows what the agent of this host does at present.");
  auto flags = std::make_shared<StatusFlags>();
  command->add_option("--admin-socket", flags->admin_socket,
                      "Socket of the agent to ask; default: the one in /run/fairlead");
  command->add_flag("--json", flags->json, "For programs: everything, as JSON");
  command->footer(
      "Asking an agent needs root.\n"
      "Examples:\n"
      "  fairlead status\n"
      "  fairlead status --json --admin-socket /run/fairlead/agent-a.sock");
  command->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace fairlead::program
