#include "program/agent_config.h"

#include "api/apiserver/version.h"
#include "api/identity/user.h"
#include "foundation/base/host_address.h"
#include "node/agent/node_info.h"
#include "tools/bench/settings.h"

namespace fairlead::program {
namespace {

constexpr std::size_t kMostOutput = 64 << 10;

Result<Duration> positive_duration(const std::string& flag, const std::string& text) {
  Result<Duration> duration = bench::parse_duration(text);
  if (!duration) return fail(std::move(duration).error().context(flag));
  if (*duration <= Duration::zero()) return fail(Code::invalid, flag + ": must be positive");
  return duration;
}

// Who this node is, and its way to the API.
Result<> read_credentials(const AgentFlags& flags, runtime::Files& files,
                          agent::AgentOptions& options) {
  if (flags.kubeconfig.empty() == flags.join_dir.empty())
    return fail(Code::invalid, "--kubeconfig or --join-dir: exactly one of them must be given");
  options.node = flags.node;
  options.credentials = {.kubeconfig = flags.kubeconfig, .join_dir = flags.join_dir};
  Result<agent::ApiAccess> access = agent::read_access(files, options.credentials);
  if (!access)
    return fail(std::move(access).error().context(
        flags.join_dir.empty() ? "--kubeconfig " + flags.kubeconfig : "--join-dir"));
  const std::string& joined_as = access->joined_as;
  if (options.node.empty()) options.node = joined_as;
  if (!joined_as.empty() && options.node != joined_as)
    return fail(Code::invalid, "--join-dir: " + flags.join_dir + " is that of node " + joined_as);
  options.api = std::move(*access);
  if (options.node.empty()) return fail(Code::invalid, "--node: the node's name must be given");
  if (!identity::is_node_name(options.node))
    return fail(Code::invalid, "--node " + options.node + ": is not a valid node name");
  return {};
}

Result<> check_hooks(const AgentFlags& flags, networks::HookLimits& limits) {
  for (const std::string& program : flags.allowed_programs) {
    if (!program.starts_with('/'))
      return fail(Code::invalid, "--allowed-program " + program + ": must be an absolute path");
    limits.allowed_programs.insert(program);
  }
  FL_TRY(limits.time, positive_duration("--hook-timeout", flags.hook_timeout));
  if (flags.hook_output > kMostOutput)
    return fail(Code::invalid, "--hook-output: at most " + std::to_string(kMostOutput));
  limits.output = flags.hook_output;
  if (flags.hooks_at_once < 1) return fail(Code::invalid, "--hooks-at-once: must be at least 1");
  limits.at_once = flags.hooks_at_once;
  return {};
}

}  // namespace

Result<AgentConfig> check_flags(const AgentFlags& flags, runtime::Files& files) {
  AgentConfig config;
  if (flags.host_ip.empty())
    return fail(Code::invalid,
                "--host-ip: needed, the address that other nodes send tunnelled packets to");
  const Result<Ip> host = Ip::parse(flags.host_ip);
  if (!host) return fail(host.error().context("--host-ip " + flags.host_ip));
  if (const std::string_view problem = host_address_problem(*host); !problem.empty())
    return fail(Code::invalid, "--host-ip " + flags.host_ip + ": " + std::string(problem));
  FL_CHECKED(read_credentials(flags, files, config.agent));
  config.agent.host = config.networks.host = *host;
  config.agent.info = agent::read_node_info(files, apiserver::kVersion);
  FL_CHECKED(check_hooks(flags, config.networks.hooks));
  FL_TRY(config.networks.audit_interval,
         positive_duration("--audit-interval", flags.audit_interval));
  config.fabric = {.name = flags.fabric,
                   .host = *host,
                   .ovs_run_dir = flags.ovs_run_dir,
                   .ovs_datapath = flags.ovs_datapath,
                   .mtu = flags.mtu};
  if (!flags.metrics_listen.empty() && flags.metrics_listen != "none") {
    Result<runtime::Endpoint> at = runtime::Endpoint::parse(flags.metrics_listen);
    if (!at) return fail(std::move(at).error().context("--metrics-listen " + flags.metrics_listen));
    config.agent.metrics_listen = std::move(*at);
  }
  return config;
}

std::string lock_path(const AgentFlags& flags, const std::string& node) {
  if (!flags.lock_file.empty()) return flags.lock_file;
  if (!flags.join_dir.empty()) return flags.join_dir + "/agent.lock";
  return "/run/fairlead/agent-" + node + ".lock";
}

}  // namespace fairlead::program
