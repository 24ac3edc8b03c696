// What `fairlead agent` was asked for: a file, flags that override it, or flags alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "foundation/command/log_flags.h"
#include "node/agent/agent_settings.h"
#include "node/agent/config_file.h"
#include "node/agent/node_agent.h"

namespace fairlead::program {

struct AgentFlags {
  std::string config;
  // Flags of fields of the file (field_flags()) that were given, with their values.
  std::map<std::string, std::vector<std::string>, std::less<>> fields;
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

// The agent's own flags, and those of its features.
std::vector<agent::FlagType> field_flags();

// The file, what features adopt from the environment, and the flags over both, checked; credentials
// are not read yet.
Result<AgentConfig> read_config(const AgentFlags& flags, runtime::Files& files,
                                const agent::Environment& environment);
// That of this process.
agent::Environment own_environment();

// The agent's own options; reads the credentials. Fails if, without an API, nothing can run.
Result<agent::AgentOptions> read_options(const AgentConfig& config, runtime::Files& files);

}  // namespace fairlead::program
