#include "program/command_line.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <utility>

#include "foundation/command/exit_status.h"
#include "node/join/join_command.h"
#include "program/build_info.h"
#include "program/commands.h"
#include "program/features.h"
#include "tools/bench/bench_command.h"
#include "tools/lab/lab_command.h"

namespace fairlead::program {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "fairlead lab up"
std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent ? path_of(*parent) + " " + app.get_name() : app.get_name();
}

// The command that the words chose.
const CLI::App& chosen(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string command_list(const CLI::App& app) {
  std::string list;
  for (const CLI::App* command : commands_of(app))
    list += (list.empty() ? "" : ", ") + command->get_name();
  return list;
}

// CLI11's own words for values, put as the rest of the program puts them: the flag first.
std::string said_about_value(std::string said) {
  constexpr std::string_view kConversion = "Could not convert: ";
  if (said.starts_with(kConversion)) {
    said.erase(0, kConversion.size());
    if (const std::size_t equals = said.find(" = "); equals != std::string::npos)
      said.replace(equals, 3, " ");
    return said + ": is not a value that it can have";
  }
  return said;
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const bool has_commands = !commands_of(app).empty();
  if (!unknown.empty() && unknown.front().starts_with("-"))
    return fmt::format("there is no flag {}", unknown.front());
  if (!unknown.empty() && has_commands)
    return fmt::format("there is no command \"{}\"", unknown.front());
  if (!unknown.empty()) return fmt::format("\"{}\" is one word too many", unknown.front());
  if (has_commands && app.get_subcommands().empty() && error.get_name() == "RequiredError")
    return "a command is missing";
  return said_about_value(error.what());
}

int refuse(const CLI::App& root, const CLI::ParseError& error, std::ostream& err) {
  const CLI::App& app = chosen(root);
  const std::string path = path_of(app);
  fmt::print(err, "{}: {}\n", path, explain(app, error));
  if (!commands_of(app).empty()) fmt::print(err, "Commands: {}\n", command_list(app));
  fmt::print(err, "See {} --help.\n", path);
  return command::kWrongUsage;
}

}  // namespace

void build_commands(CLI::App& app, int& exit_status) {
  app.name("fairlead");
  app.description("The network tier of a bare-metal Kubernetes cluster.");
  app.set_version_flag("--version", version_line());
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fairlead server --data /var/lib/fairlead --listen 0.0.0.0:6443\n"
      "  kubectl --kubeconfig /var/lib/fairlead/admin.kubeconfig get subnets\n"
      "  fairlead help agent\n"
      "Each command has its own --help. Exit status: 0 done, 1 failed, 2 wrong usage.");
  add_server_command(app, exit_status);
  join::add_join_command(app, exit_status);
  add_agent_command(app, exit_status);
  add_status_command(app, exit_status);
  add_why_command(app, exit_status);
  add_feature_commands(app, exit_status);
  lab::add_lab_command(app, exit_status);
  bench::add_bench_command(app, exit_status);
  app.add_subcommand("version", "Prints the version and the commit it was built from.")
      ->footer("Examples:\n  fairlead version")
      ->callback([] { fmt::print("{}\n", version_line()); });
  // Never chosen: run_command_line turns it into --help.
  app.add_subcommand("help", "Shows the help of a command.")
      ->footer("Examples:\n  fairlead help lab up")
      ->allow_extras();
}

int run_command_line(std::vector<std::string> words, std::ostream& out, std::ostream& err) {
  int exit_status = command::kDone;
  CLI::App app;
  build_commands(app, exit_status);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& success) {  // --help, --version
    if (!chosen(app).remaining(true).empty()) return refuse(app, success, err);
    return app.exit(success, out, err);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error, err);
  }
  return exit_status;
}

}  // namespace fairlead::program
