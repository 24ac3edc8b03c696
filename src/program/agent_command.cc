// `fairlead agent`: flags → lock → fabric → agent → until a signal.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/log.h"
#include "program/agent_config.h"
#include "program/commands.h"
#include "program/exit_status.h"
#include "program/fabric_choice.h"
#include "program/host_claim.h"
#include "program/join_client.h"
#include "program/lock_file.h"
#include "program/resident_memory.h"
#include "runtime/epoll_processes.h"
#include "runtime/epoll_runtime.h"
#include "runtime/scope.h"

namespace fairlead::program {
namespace {

constexpr Duration kRenewalInterval = 1h;
constexpr Duration kGiveBackInterval = 30s;
constexpr const char* kClaims = "/run/fairlead/agents.lock";

constexpr const char* kCommand = "fairlead agent";

Task<void> tell_when_ready(AgentProgram& program, std::string fabric) {
  const Result<> ready = co_await program.agent().wait_ready();
  if (!ready) co_return;
  const std::optional<runtime::Endpoint> at = program.metrics_address();
  std::printf("fairlead agent ready, fabric %s, %zu attachments here, metrics %s\n", fabric.c_str(),
              program.agent().view().local_count(),
              at ? ("http://" + at->to_string() + "/metrics").c_str() : "none");
  std::fflush(stdout);
}

// An agent is on every node, and mostly has nothing to do.
Task<void> stay_small(runtime::Runtime& runtime, AgentProgram& program) {
  Result<> awake = co_await program.agent().wait_ready();
  while (awake) {
    give_back_memory();
    awake = co_await runtime::sleep(runtime, kGiveBackInterval);
  }
}

// A joined node's certificate is renewed when it is due. Files are read again in any case: somebody
// else may renew those that --kubeconfig names. New credentials count from the next connection on.
Task<void> keep_credentials(runtime::Runtime& runtime, AgentProgram& program, AgentFlags flags) {
  for (;;) {
    if (Result<> slept = co_await runtime::sleep(runtime, kRenewalInterval); !slept) co_return;
    if (!flags.join_dir.empty()) {
      JoinClient client(runtime, {.folder = flags.join_dir},
                        [](const std::string& text) { log::info("renewal", {{"told", text}}); });
      const Result<JoinOutcome> outcome = co_await client.run();
      if (!outcome)
        log::warning("certificate not renewed", {{"error", outcome.error().to_string()}});
    }
    const Result<AgentConfig> config = check_flags(flags, runtime.files());
    if (config) {
      program.client().use_credentials(config->api);
    } else {
      log::warning("credentials not read again", {{"error", config.error().to_string()}});
    }
  }
}

Task<Result<>> run_agent(runtime::EpollRuntime& runtime, AgentConfig config, AgentFlags flags) {
  const FabricChoice choice{.name = flags.fabric,
                            .host = config.agent.host,
                            .ovs_run_dir = flags.ovs_run_dir,
                            .ovs_datapath = flags.ovs_datapath,
                            .mtu = flags.mtu};
  FL_CO_TRY(const std::unique_ptr<fabric::Fabric> fabric, make_fabric(runtime, choice));
  runtime::EpollProcesses processes(runtime);
  FL_CO_TRY(const std::unique_ptr<AgentProgram> program,
            AgentProgram::open(runtime, processes, *fabric, std::move(config)));
  runtime::Scope scope(runtime);
  scope.spawn(program->run());
  scope.spawn(tell_when_ready(*program, flags.fabric));
  scope.spawn(stay_small(runtime, *program));
  scope.spawn(keep_credentials(runtime, *program, flags));
  const Result<int> signal = co_await runtime.next_signal();
  if (signal) log::info("stopping", {{"signal", *signal}});
  co_await scope.close();
  co_return Result<>{};
}

int run(const AgentFlags& flags) {
  log::set_format(flags.log_format == "json" ? log::Format::json : log::Format::text);
  log::set_level(flags.log_level == "debug"     ? log::Level::debug
                 : flags.log_level == "warning" ? log::Level::warning
                 : flags.log_level == "error"   ? log::Level::error
                                                : log::Level::info);
  runtime::EpollRuntime runtime({.blocking_threads = 2});
  Result<AgentConfig> config = check_flags(flags, runtime.files());
  if (!config) return report(kCommand, config.error());
  const std::string node = config->agent.node;
  const Result<LockFile> lock =
      LockFile::take(lock_path(flags, node), "another agent of this node");
  if (!lock) return report(kCommand, lock.error().context("--lock-file"));
  std::optional<Result<HostClaim>> claim;
  if (flags.fabric != "log") claim.emplace(HostClaim::take(kClaims, flags.fabric));
  if (claim && !*claim) return report(kCommand, claim->error());
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT}); !caught)
    return report(kCommand, caught.error());
  const Result<> outcome =
      runtime.run_until_complete(run_agent(runtime, std::move(*config), flags));
  if (!outcome) return report(kCommand, outcome.error());
  return 0;
}

void add_hook_flags(CLI::App& command, AgentFlags& flags) {
  command
      .add_option("--allowed-program", flags.allowed_programs,
                  "A program that attachments may have run here, by absolute path; repeatable")
      ->group("Hooks");
  command.add_option("--hook-timeout", flags.hook_timeout, "Then a hook is killed")
      ->capture_default_str()
      ->group("Hooks");
  command.add_option("--hook-output", flags.hook_output, "Bytes kept of each output of a hook")
      ->capture_default_str()
      ->group("Hooks");
  command.add_option("--hooks-at-once", flags.hooks_at_once, "Hooks that run at the same time")
      ->capture_default_str()
      ->group("Hooks");
}

}  // namespace

void add_agent_command(CLI::App& app, int& exit_status) {
  CLI::App* command =
      app.add_subcommand("agent", "Carries the virtual networks of this node: one on each node.");
  auto flags = std::make_shared<AgentFlags>();
  command->add_option("--node", flags->node, "Name of this node; default: what it joined as");
  command->add_option("--host-ip", flags->host_ip,
                      "This node's address, to which others send tunnelled packets");
  command
      ->add_option(
          "--fabric", flags->fabric,
          "What carries the networks: vxlan (the kernel alone), ovs (Open vSwitch), or log, which "
          "makes nothing and only says what it was asked for")
      ->check(CLI::IsMember(fabric_names()))
      ->capture_default_str();
  command->add_option("--kubeconfig", flags->kubeconfig, "Credentials for the API");
  command->add_option("--join-dir", flags->join_dir,
                      "Folder of `fairlead join`, instead of --kubeconfig");
  command->add_option("--ovs-run-dir", flags->ovs_run_dir, "Fabric ovs: where db.sock is")
      ->capture_default_str();
  command->add_option("--ovs-datapath", flags->ovs_datapath,
                      "Fabric ovs: netdev for the userspace datapath; default: the kernel's");
  command->add_option("--mtu", flags->mtu,
                      "Fabric ovs: of attachments; default: that of the interface with --host-ip "
                      "less the tunnel's headers (50 bytes, 70 on IPv6)");
  command->add_option("--audit-interval", flags->audit_interval, "How often the fabric is audited")
      ->capture_default_str();
  command
      ->add_option("--metrics-listen", flags->metrics_listen,
                   "Where /metrics, /healthz and /readyz are served; none: nowhere")
      ->capture_default_str();
  command->add_option("--lock-file", flags->lock_file,
                      "Held while running; default: agent.lock in --join-dir, else "
                      "/run/fairlead/agent-NODE.lock");
  command->add_option("--log-format", flags->log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--log-level", flags->log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  add_hook_flags(*command, *flags);
  command->footer(
      "Stopping or killing it leaves the networks as they are; the next one adopts them.\n"
      "Examples:\n"
      "  fairlead agent --join-dir /var/lib/fairlead-node --host-ip 10.0.0.7\n"
      "  fairlead agent --join-dir /var/lib/fairlead-node --host-ip 10.0.0.7 --fabric ovs\n"
      "  fairlead agent --node rack1-7 --host-ip 10.0.0.7 --kubeconfig node.kubeconfig \\\n"
      "    --allowed-program /usr/local/bin/plug --hook-timeout 10s");
  command->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace fairlead::program
