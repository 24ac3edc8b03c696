// What `fairlead agent` was asked for: flags, read and checked. Errors name the flag.
#pragma once

#include <string>
#include <vector>

#include "foundation/command/log_flags.h"
#include "program/agent_program.h"

namespace fairlead::program {

// The flags as given.
struct AgentFlags {
  std::string node;
  std::string host_ip;
  std::string fabric = "vxlan";
  std::string ovs_run_dir = "/var/run/openvswitch";
  std::string ovs_datapath;
  std::uint32_t mtu = 0;
  std::string kubeconfig;
  std::string join_dir;
  std::vector<std::string> allowed_programs;
  std::string hook_timeout = "30s";
  std::size_t hook_output = 4096;
  int hooks_at_once = 4;
  std::string audit_interval = "30s";
  std::string metrics_listen = "127.0.0.1:9294";
  std::string lock_file;
  command::LogFlags log;
};

// Reads the credentials, too.
Result<AgentConfig> check_flags(const AgentFlags& flags, runtime::Files& files);

// Where the lock of this node's one agent is.
std::string lock_path(const AgentFlags& flags, const std::string& node);

}  // namespace fairlead::program
