#include "program/agent_config.h"

#include <filesystem>

#include "api/client/server_url.h"
#include "foundation/base/host_address.h"
#include "node/join/join_files.h"
#include "program/node_info.h"
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

Result<identity::ClientConfig> read_kubeconfig(runtime::Files& files, const std::string& path) {
  const auto read = [&files](const std::string& name) { return files.read(name); };
  FL_TRY(const std::string text, read(path));
  FL_TRY(const identity::Kubeconfig parsed, identity::parse_kubeconfig(text));
  return identity::resolve(parsed, "", std::filesystem::path(path).parent_path().string(), read);
}

// What `fairlead join` left in its folder: who we are, and every server it was told of.
Result<> read_membership(runtime::Files& files, const std::string& folder, AgentConfig& config) {
  join::JoinFiles joined(files, folder);
  if (Result<std::string> there = files.read(joined.path("node.crt")); !there)
    return fail(there.error().code, joined.path("node.crt") + ": run `fairlead join` first");
  FL_TRY(const identity::PrivateKey key, joined.key());
  FL_TRY(const std::optional<join::Membership> membership, joined.read(key));
  if (!membership) return fail(Code::invalid, folder + " is not a complete membership");
  FL_TRY(config.api, read_kubeconfig(files, joined.path("node.kubeconfig")));
  if (config.agent.node.empty()) config.agent.node = membership->node;
  if (config.agent.node != membership->node)
    return fail(Code::invalid, folder + " is that of node " + membership->node);
  for (const std::string& url : membership->servers) {
    if (url == config.api.server) continue;
    FL_TRY(client::ServerUrl server, client::parse_server_url(url));
    config.further_servers.push_back(std::move(server.endpoint));
  }
  return {};
}

Result<> check_hooks(const AgentFlags& flags, agent::HookLimits& limits) {
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
  config.agent.node = flags.node;
  if (flags.host_ip.empty())
    return fail(Code::invalid,
                "--host-ip: needed, the address that other nodes send tunnelled packets to");
  const Result<Ip> host = Ip::parse(flags.host_ip);
  if (!host) return fail(host.error().context("--host-ip " + flags.host_ip));
  if (const std::string_view problem = host_address_problem(*host); !problem.empty())
    return fail(Code::invalid, "--host-ip " + flags.host_ip + ": " + std::string(problem));
  config.agent.host = *host;
  if (flags.kubeconfig.empty() == flags.join_dir.empty())
    return fail(Code::invalid, "--kubeconfig or --join-dir: exactly one of them must be given");
  if (!flags.join_dir.empty()) {
    if (Result<> joined = read_membership(files, flags.join_dir, config); !joined)
      return fail(std::move(joined).error().context("--join-dir"));
  } else {
    Result<identity::ClientConfig> api = read_kubeconfig(files, flags.kubeconfig);
    if (!api) return fail(std::move(api).error().context("--kubeconfig " + flags.kubeconfig));
    config.api = std::move(*api);
  }
  if (config.agent.node.empty())
    return fail(Code::invalid, "--node: the node's name must be given");
  if (!identity::is_node_name(config.agent.node))
    return fail(Code::invalid, "--node " + config.agent.node + ": is not a valid node name");
  config.agent.info = read_node_info(files);
  FL_CHECKED(check_hooks(flags, config.agent.hooks));
  FL_TRY(config.agent.audit_interval, positive_duration("--audit-interval", flags.audit_interval));
  if (!flags.metrics_listen.empty() && flags.metrics_listen != "none") {
    Result<runtime::Endpoint> at = runtime::Endpoint::parse(flags.metrics_listen);
    if (!at) return fail(std::move(at).error().context("--metrics-listen " + flags.metrics_listen));
    config.metrics_listen = std::move(*at);
  }
  return config;
}

std::string lock_path(const AgentFlags& flags, const std::string& node) {
  if (!flags.lock_file.empty()) return flags.lock_file;
  if (!flags.join_dir.empty()) return flags.join_dir + "/agent.lock";
  return "/run/fairlead/agent-" + node + ".lock";
}

}  // namespace fairlead::program
