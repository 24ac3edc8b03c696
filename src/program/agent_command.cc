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

#include "features/networks/node/fabric_choice.h"
#include "foundation/command/announce.h"
#include "foundation/command/exit_status.h"
#include "foundation/command/log_flags.h"
#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"
#include "program/agent_config.h"
#include "program/agent_run.h"
#include "program/commands.h"
#include "program/features.h"
#include "program/lock_file.h"
#include "program/resident_memory.h"

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

Task<Result<>> run_process(runtime::EpollRuntime& runtime, agent::AgentOptions options,
                           std::vector<agent::FeaturePlan> features) {
  runtime::EpollProcesses processes(runtime);
  command::StopRequest stop;
  runtime::Scope scope(runtime);
  scope.spawn(command::ask_at_signals(runtime, stop));
  options.processes = &processes;
  options.give_back_memory = give_back_memory;
  Result<> outcome = co_await run_agent(
      runtime, std::move(options), std::move(features),
      [](const agent::NodeAgent& agent) { tell_ready(agent); }, stop);
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
    std::printf("%s %s%s%s\n", one.problem.empty() ? "ok    " : "FAILED", one.what.c_str(),
                one.problem.empty() ? "" : ": ", one.problem.c_str());
  return checks.all_well() ? command::kDone : command::kFailed;
}

int run(const AgentFlags& flags) {
  if (flags.config_schema || flags.config_reference) {
    const resource::Schema schema = agent::config_schema(node_features());
    return print(flags.config_schema
                     ? wire::encode_json_pretty(agent::config_json_schema(schema)) + "\n"
                     : agent::config_reference(schema));
  }
  command::set_up_log(flags.log);
  runtime::EpollRuntime runtime({.blocking_threads = 2});
  Result<AgentConfig> config = read_config(flags, runtime.files());
  if (!config) return report_config(flags, config.error());
  const agent::AgentSettings& settings = config->plan.settings;
  command::set_up_log({.format = settings.log.format, .level = settings.log.level});
  if (flags.check) return check(flags, runtime, *config);
  Result<agent::AgentOptions> options = read_options(*config, runtime.files());
  if (!options) return report_config(flags, options.error());
  const Result<LockFile> lock =
      LockFile::take(agent::lock_path(settings, options->node), "another agent of this node");
  if (!lock) return command::report_failure(kProgram, lock.error().context("--lock-file"));
  if (options->admin_socket) {
    std::error_code ignored;  // listening tells what is wrong
    std::filesystem::create_directories(
        std::filesystem::path(options->admin_socket->host).parent_path(), ignored);
  }
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT}); !caught)
    return command::report_failure(kProgram, caught.error());
  const Result<> outcome = runtime.run_until_complete(
      run_process(runtime, std::move(*options), std::move(config->plan.features)));
  if (!outcome) return command::report_failure(kProgram, outcome.error());
  return 0;
}

void add_hook_flags(CLI::App& command, AgentFlags& flags) {
  command
      .add_option("--allowed-program", flags.allowed_programs,
                  "A program that attachments may have run here, by absolute path; repeatable")
      ->allow_extra_args(false)
      ->group("Hooks");
  command.add_option("--hook-timeout", flags.hook_timeout, "Then a hook is killed")
      ->default_str("30s")
      ->group("Hooks");
  command.add_option("--hook-output", flags.hook_output, "Bytes kept of each output of a hook")
      ->default_str("4096")
      ->group("Hooks");
  command.add_option("--hooks-at-once", flags.hooks_at_once, "Hooks that run at the same time")
      ->default_str("4")
      ->group("Hooks");
}

void add_network_flags(CLI::App& command, AgentFlags& flags) {
  command.add_option("--host-ip", flags.host_ip,
                     "This node's address, to which others send tunnelled packets");
  command
      .add_option(
          "--fabric", flags.fabric,
          "What carries the networks: vxlan (the kernel alone), ovs (Open vSwitch), or log, which "
          "makes nothing and only says what it was asked for")
      ->check(CLI::IsMember(networks::fabric_names()))
      ->default_str("vxlan");
  command.add_option("--ovs-run-dir", flags.ovs_run_dir, "Fabric ovs: where db.sock is")
      ->default_str("/var/run/openvswitch");
  command.add_option("--ovs-datapath", flags.ovs_datapath,
                     "Fabric ovs: netdev for the userspace datapath; default: the kernel's");
  command.add_option("--mtu", flags.mtu,
                     "Fabric ovs: of attachments; default: that of the interface with --host-ip "
                     "less the tunnel's headers (50 bytes, 70 on IPv6)");
  command.add_option("--audit-interval", flags.audit_interval, "How often the fabric is audited")
      ->default_str("30s");
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
  CLI::App* command =
      app.add_subcommand("agent", "What Fairlead does on this node: one on each node.");
  auto flags = std::make_shared<AgentFlags>();
  command->add_option("--node", flags->node, "Name of this node; default: what it joined as");
  command->add_option("--kubeconfig", flags->kubeconfig, "Credentials for the API");
  command->add_option("--join-dir", flags->join_dir,
                      "Folder of `fairlead join`, instead of --kubeconfig");
  add_network_flags(*command, *flags);
  command
      ->add_option("--metrics-listen", flags->metrics_listen,
                   "Where /metrics, /healthz and /readyz are served; none: nowhere")
      ->default_str("127.0.0.1:9294");
  command->add_option("--admin-socket", flags->admin_socket,
                      "Unix socket for `fairlead why`; none: there is none; default: agent.sock in "
                      "--join-dir, else /run/fairlead/agent-NODE.sock");
  command->add_option("--lock-file", flags->lock_file,
                      "Held while running; default: agent.lock in --join-dir, else "
                      "/run/fairlead/agent-NODE.lock");
  command::add_log_flags(*command, flags->log);
  add_hook_flags(*command, *flags);
  add_config_flags(*command, *flags);
  command->footer(
      "Stopping or killing it leaves the networks as they are; the next one adopts them.\n"
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
    exit_status = run(*flags);
  });
}

}  // namespace fairlead::program
