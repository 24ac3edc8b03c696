// What `fairlead agent` was asked for: a file, flags that override it, or flags alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/command/log_flags.h"
#include "node/agent/agent_settings.h"
#include "node/agent/config_file.h"
#include "node/agent/node_agent.h"

namespace fairlead::program {

// The flags as given; nullopt: not given.
struct AgentFlags {
  std::string config;
  std::optional<std::string> node;
  std::optional<std::string> host_ip;
  std::optional<std::string> fabric;
  std::optional<std::string> ovs_run_dir;
  std::optional<std::string> ovs_datapath;
  std::optional<std::uint32_t> mtu;
  std::optional<std::string> kubeconfig;
  std::optional<std::string> join_dir;
  std::optional<std::vector<std::string>> allowed_programs;
  std::optional<std::string> hook_timeout;
  std::optional<std::uint32_t> hook_output;
  std::optional<std::int32_t> hooks_at_once;
  std::optional<std::string> audit_interval;
  std::optional<std::string> metrics_listen;
  std::optional<std::string> admin_socket;
  std::optional<std::string> lock_file;
  command::LogFlags log;
  bool log_format_given = false;
  bool log_level_given = false;
  bool check = false;
  bool config_schema = false;
  bool config_reference = false;
};

struct AgentConfig {
  agent::ConfigFile file;
  agent::AgentPlan plan;
};

// The file and the flags over it, checked; credentials are not read yet.
Result<AgentConfig> read_config(const AgentFlags& flags, runtime::Files& files);

// The agent's own options; reads the credentials. Fails if, without an API, nothing can run.
Result<agent::AgentOptions> read_options(const AgentConfig& config, runtime::Files& files);

}  // namespace fairlead::program
