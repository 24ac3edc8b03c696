// `fairlead agent`: file and flags → lock → features → agent → until a signal.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/command/announce.h"
#include "foundation/command/exit_status.h"
#include "foundation/command/first_process.h"
#include "foundation/command/lock_file.h"
#include "foundation/command/log_flags.h"
#include "foundation/command/resident_memory.h"
#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"
#include "program/agent_config.h"
#include "program/agent_run.h"
#include "program/commands.h"
#include "program/config_keeper.h"
#include "program/features.h"

namespace fairlead::program {
namespace {

constexpr std::string_view kProgram = "fairlead agent";

void tell_ready(const agent::NodeAgent& agent) {
  std::string sentence;
  std::vector<log::LogField> fields;
  for (const auto& feature : agent.features()) {
    agent::Summary summary = feature->summary();
    if (!summary.sentence.empty()) sentence += ", " + summary.sentence;
    std::ranges::move(summary.fields, std::back_inserter(fields));
  }
  const std::optional<runtime::Endpoint> at = agent.metrics_address();
  const std::string metrics = at ? "http://" + at->to_string() + "/metrics" : "none";
  fields.push_back({"metrics", metrics});
  command::announce(kProgram, sentence + ", metrics " + metrics, fields);
}

Task<void> follow_signals(runtime::EpollRuntime& runtime, command::StopRequest& stop,
                          ConfigKeeper& config) {
  for (;;) {
    const Result<int> signal = co_await runtime.next_signal();
    if (!signal) co_return;
    if (*signal == SIGHUP) {
      config.ask();
    } else {
      command::ask(stop, *signal);
    }
  }
}

Task<Result<>> run_process(runtime::EpollRuntime& runtime, const AgentFlags& flags,
                           agent::AgentOptions options, std::vector<agent::FeaturePlan> features) {
  runtime::EpollProcesses processes(runtime);
  command::StopRequest stop;
  ConfigKeeper config(runtime, flags);
  runtime::Scope scope(runtime);
  scope.spawn(follow_signals(runtime, stop, config));
  options.processes = &processes;
  options.give_back_memory = command::give_back_memory;
  Result<> outcome = co_await run_agent(
      runtime, std::move(options), std::move(features),
      [](const agent::NodeAgent& agent) { tell_ready(agent); }, stop,
      [&config](agent::NodeAgent& agent) { return config.keep(agent); });
  co_await scope.close();
  co_return outcome;
}

// What is wrong with the file is told as compilers tell it, and is wrong usage.
int report_config(const AgentFlags& flags, const Error& error) {
  if (flags.config.empty() || !error.message.starts_with(flags.config + ":"))
    return command::report_failure(kProgram, error);
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return command::kWrongUsage;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return command::kDone;
}

// Looks, and changes nothing.
int check(const AgentFlags& flags, runtime::EpollRuntime& runtime, const AgentConfig& config) {
  agent::Checklist checks;
  checks.passed(flags.config.empty() ? std::string("flags") : "configuration " + flags.config);
  const agent::AgentSettings& settings = config.plan.settings;
  const agent::CredentialFiles credentials{.kubeconfig = settings.kubeconfig,
                                           .join_dir = settings.join_dir};
  if (!credentials.empty() && (credentials.kubeconfig.empty() || credentials.join_dir.empty()))
    agent::check_credentials(runtime.files(), credentials, runtime.wall_now(), checks);
  const Result<agent::AgentOptions> options = read_options(config, runtime.files());
  if (!options)
    checks.failed("agent", options.error().message);
  else
    checks.passed("agent of node " + options->node);
  for (const agent::FeaturePlan& feature : config.plan.features)
    if (feature.check) feature.check(runtime.files(), checks);
  for (const agent::Checklist::Check& one : checks.checks())
    std::printf("%s %s%s%s\n",
                one.note              ? "note  "
                : one.problem.empty() ? "ok    "
                                      : "FAILED",
                one.what.c_str(), one.problem.empty() ? "" : ": ", one.problem.c_str());
  return checks.all_well() ? command::kDone : command::kFailed;
}

int run(const AgentFlags& flags) {
  if (flags.config_schema || flags.config_reference) {
    const resource::Schema schema = agent::config_schema(node_features());
    return print(flags.config_schema
                     ? wire::encode_json_pretty(agent::config_json_schema(schema)) + "\n"
                     : agent::config_reference(schema, field_flags()));
  }
  command::set_up_log(flags.log);
  runtime::EpollRuntime runtime({.blocking_threads = 2});
  Result<AgentConfig> config = read_config(flags, runtime.files(), own_environment());
  if (!config) return report_config(flags, config.error());
  const agent::AgentSettings& settings = config->plan.settings;
  command::set_up_log({.format = settings.log.format, .level = settings.log.level});
  if (flags.check) return check(flags, runtime, *config);
  Result<agent::AgentOptions> options = read_options(*config, runtime.files());
  if (!options) return report_config(flags, options.error());
  const Result<command::LockFile> lock = command::LockFile::take(
      agent::lock_path(settings, options->node), "another agent of this node");
  if (!lock) return command::report_failure(kProgram, lock.error().context("--lock-file"));
  if (options->admin_socket) {
    std::error_code ignored;  // listening tells what is wrong
    std::filesystem::create_directories(
        std::filesystem::path(options->admin_socket->host).parent_path(), ignored);
  }
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT, SIGHUP}); !caught)
    return command::report_failure(kProgram, caught.error());
  const Result<> outcome = runtime.run_until_complete(
      run_process(runtime, flags, std::move(*options), std::move(config->plan.features)));
  if (!outcome) return command::report_failure(kProgram, outcome.error());
  return 0;
}

// A flag for each field that has one; help, default and values are the field's own.
void add_field_flags(CLI::App& command, AgentFlags& flags) {
  const resource::Schema schema = agent::config_schema(node_features());
  for (const agent::FlagType& type : field_flags()) {
    const resource::Field& field = agent::field_at(schema, type.path);
    std::string help = field.schema.description;
    if (field.required) help += " It must be given, here or in the file.";
    CLI::Option* option = nullptr;
    std::vector<std::string>& values = flags.fields[type.flag];
    if (field.schema.type == resource::Schema::Type::array) {
      option = command.add_option(type.flag, values, help + " Repeatable.");
      option->allow_extra_args(false);
    } else {
      option = command.add_option_function<std::string>(
          type.flag, [&values](const std::string& value) { values = {value}; }, help);
    }
    if (!field.schema.allowed.empty()) option->check(CLI::IsMember(field.schema.allowed));
    if (field.schema.type == resource::Schema::Type::integer) option->type_name("INT");
    if (const std::optional<Json>& value = field.schema.default_value)
      option->default_str(value->is_string() ? std::string(value->get_string())
                                             : wire::encode_json(*value));
    if (!type.group.empty()) option->group(type.group);
  }
}

void add_config_flags(CLI::App& command, AgentFlags& flags) {
  command
      .add_option("--config", flags.config,
                  "YAML file with everything that flags can say; flags override it")
      ->group("Configuration");
  command
      .add_flag("--check", flags.check,
                "Only check the file, the flags, the credentials and what the features need of "
                "this host; changes nothing")
      ->group("Configuration");
  command.add_flag("--config-schema", flags.config_schema, "Print a JSON schema of the file")
      ->group("Configuration");
  command.add_flag("--config-reference", flags.config_reference, "Print the file's documentation")
      ->group("Configuration");
}

}  // namespace

void add_agent_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "agent", "Runs Fairlead's features on this node (virtual networks, virtual IPs).");
  auto flags = std::make_shared<AgentFlags>();
  add_field_flags(*command, *flags);
  command::add_log_flags(*command, flags->log);
  add_config_flags(*command, *flags);
  command->footer(
      "Stopping or killing it leaves the networks as they are; the next one adopts them. Virtual "
      "IPs\n"
      "go to other nodes.\n"
      "Examples:\n"
      "  fairlead agent --join-dir /var/lib/fairlead-node --host-ip 10.0.0.7\n"
      "  fairlead agent --join-dir /var/lib/fairlead-node --host-ip 10.0.0.7 --fabric ovs\n"
      "  fairlead agent --node rack1-7 --host-ip 10.0.0.7 --kubeconfig node.kubeconfig \\\n"
      "    --allowed-program /usr/local/bin/plug --hook-timeout 10s\n"
      "  fairlead agent --config /etc/fairlead/agent.yaml\n"
      "  fairlead agent --check --config /etc/fairlead/agent.yaml");
  command->callback([flags, command, &exit_status] {
    flags->log_format_given = command->count("--log-format") > 0;
    flags->log_level_given = command->count("--log-level") > 0;
    std::erase_if(flags->fields, [](const auto& flag) { return flag.second.empty(); });
    exit_status = command::run_program([&flags] { return run(*flags); });
  });
}

}  // namespace fairlead::program
