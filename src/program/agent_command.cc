// `fairlead agent`: flags → lock → fabric → agent → until a signal.
#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/command/announce.h"
#include "foundation/command/log_flags.h"
#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"
#include "program/agent_config.h"
#include "program/agent_run.h"
#include "program/commands.h"
#include "program/fabric_choice.h"
#include "program/host_claim.h"
#include "program/lock_file.h"
#include "program/resident_memory.h"

namespace fairlead::program {
namespace {

constexpr const char* kClaims = "/run/fairlead/agents.lock";
constexpr std::string_view kProgram = "fairlead agent";

void tell_ready(AgentProgram& program, const std::string& fabric) {
  const std::optional<runtime::Endpoint> at = program.metrics_address();
  const std::string metrics = at ? "http://" + at->to_string() + "/metrics" : "none";
  const std::size_t attachments = program.agent().view().local_count();
  command::announce(kProgram,
                    ", fabric " + fabric + ", " + std::to_string(attachments) +
                        " attachments here, metrics " + metrics,
                    {{"fabric", fabric}, {"attachments", attachments}, {"metrics", metrics}});
}

Task<Result<>> run_process(runtime::EpollRuntime& runtime, AgentConfig config, AgentFlags flags) {
  const FabricChoice choice{.name = flags.fabric,
                            .host = config.agent.host,
                            .ovs_run_dir = flags.ovs_run_dir,
                            .ovs_datapath = flags.ovs_datapath,
                            .mtu = flags.mtu};
  FL_CO_TRY(const std::unique_ptr<fabric::Fabric> fabric, make_fabric(runtime, choice));
  runtime::EpollProcesses processes(runtime);
  command::StopRequest stop;
  runtime::Scope scope(runtime);
  scope.spawn(command::ask_at_signals(runtime, stop));
  AgentSurroundings surroundings{
      .processes = processes,
      .fabric = *fabric,
      .tell_ready = [&flags](AgentProgram& program) { tell_ready(program, flags.fabric); },
      .give_back_memory = give_back_memory};
  Result<> outcome =
      co_await run_agent(runtime, std::move(config), flags, std::move(surroundings), stop);
  co_await scope.close();
  co_return outcome;
}

int run(const AgentFlags& flags) {
  command::set_up_log(flags.log);
  runtime::EpollRuntime runtime({.blocking_threads = 2});
  Result<AgentConfig> config = check_flags(flags, runtime.files());
  if (!config) return command::report_failure(kProgram, config.error());
  const std::string node = config->agent.node;
  const Result<LockFile> lock =
      LockFile::take(lock_path(flags, node), "another agent of this node");
  if (!lock) return command::report_failure(kProgram, lock.error().context("--lock-file"));
  std::optional<Result<HostClaim>> claim;
  if (flags.fabric != "log") claim.emplace(HostClaim::take(kClaims, flags.fabric));
  if (claim && !*claim) return command::report_failure(kProgram, claim->error());
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT}); !caught)
    return command::report_failure(kProgram, caught.error());
  const Result<> outcome =
      runtime.run_until_complete(run_process(runtime, std::move(*config), flags));
  if (!outcome) return command::report_failure(kProgram, outcome.error());
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
  command::add_log_flags(*command, flags->log);
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
