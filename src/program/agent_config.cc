#include "program/agent_config.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "api/apiserver/version.h"
#include "node/agent/node_info.h"
#include "program/features.h"

namespace fairlead::program {
namespace {

template <class T>
std::optional<Json> json_of(const std::optional<T>& value) {
  return value ? std::optional<Json>(Json(*value)) : std::nullopt;
}

std::optional<Json> json_of(const std::optional<std::vector<std::string>>& values) {
  if (!values) return std::nullopt;
  JsonArray items;
  for (const std::string& value : *values) items.emplace_back(value);
  return Json(std::move(items));
}

std::optional<Json> json_if(bool given, const std::string& value) {
  return given ? std::optional<Json>(value) : std::nullopt;
}

std::vector<agent::FlagValue> flag_values(const AgentFlags& flags) {
  return {{"--node", "node", json_of(flags.node)},
          {"--kubeconfig", "kubeconfig", json_of(flags.kubeconfig)},
          {"--join-dir", "joinDir", json_of(flags.join_dir)},
          {"--metrics-listen", "metricsListen", json_of(flags.metrics_listen)},
          {"--admin-socket", "adminSocket", json_of(flags.admin_socket)},
          {"--lock-file", "lockFile", json_of(flags.lock_file)},
          {"--log-format", "log.format", json_if(flags.log_format_given, flags.log.format)},
          {"--log-level", "log.level", json_if(flags.log_level_given, flags.log.level)},
          {"--host-ip", "networks.host", json_of(flags.host_ip)},
          {"--fabric", "networks.fabric", json_of(flags.fabric)},
          {"--audit-interval", "networks.auditInterval", json_of(flags.audit_interval)},
          {"--mtu", "networks.mtu", json_of(flags.mtu)},
          {"--ovs-run-dir", "networks.ovs.runDir", json_of(flags.ovs_run_dir)},
          {"--ovs-datapath", "networks.ovs.datapath", json_of(flags.ovs_datapath)},
          {"--allowed-program", "networks.hooks.allowedPrograms", json_of(flags.allowed_programs)},
          {"--hook-timeout", "networks.hooks.timeout", json_of(flags.hook_timeout)},
          {"--hook-output", "networks.hooks.output", json_of(flags.hook_output)},
          {"--hooks-at-once", "networks.hooks.atOnce", json_of(flags.hooks_at_once)}};
}

std::string own_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  std::string text = name;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

Result<AgentConfig> read_config(const AgentFlags& flags, runtime::Files& files) {
  AgentConfig config;
  if (!flags.config.empty()) {
    FL_TRY(config.file, agent::ConfigFile::read(files, flags.config));
  }
  config.file.lay_over(flag_values(flags));
  // Flags alone are about virtual networks.
  if (flags.config.empty() && !config.file.has("networks"))
    config.file.lay_over({{"", "networks", Json(JsonObject())}});
  FL_TRY(config.plan, agent::plan_agent(config.file, node_features()));
  return config;
}

Result<agent::AgentOptions> read_options(const AgentConfig& config, runtime::Files& files) {
  const std::vector<agent::FeaturePlan>& features = config.plan.features;
  FL_TRY(agent::AgentOptions options,
         agent::agent_options(config.file, config.plan.settings, files, own_host_name()));
  const bool all_need_api = std::ranges::all_of(features, &agent::FeaturePlan::needs_api);
  if (!options.api && !features.empty() && all_need_api)
    return fail(Code::invalid, "--kubeconfig or --join-dir: exactly one of them must be given: " +
                                   features.front().name + " needs an API");
  if (const Json* host = wire::find(config.file.value(), "networks.host"))
    if (Result<Ip> ip = Ip::parse(std::string(host->as_string()))) options.host = *ip;
  options.info = agent::read_node_info(files, apiserver::kVersion);
  return options;
}

}  // namespace fairlead::program
