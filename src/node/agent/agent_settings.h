// The agent's own fields of its configuration file, and the schema of the whole file.
#pragma once

#include <string>
#include <vector>

#include "api/resource/schema/describe.h"
#include "node/agent/config_file.h"
#include "node/agent/node_feature.h"

namespace fairlead::agent {

struct LogSettings {
  std::string format;
  std::string level;

  template <class V>
  static void describe(V& v) {
    v.field("format", &LogSettings::format)
        .one_of({"text", "json"})
        .default_value("text")
        .description("Form of log lines.");
    v.field("level", &LogSettings::level)
        .one_of({"debug", "info", "warning", "error"})
        .default_value("info")
        .description("From which level on lines are logged.");
  }
};

struct AgentSettings {
  std::string node;
  std::string kubeconfig;
  std::string join_dir;
  std::string metrics_listen;
  std::string admin_socket;
  std::string lock_file;
  LogSettings log;

  template <class V>
  static void describe(V& v) {
    v.field("node", &AgentSettings::node)
        .description(
            "Name of this node. Default: with joinDir what it joined as, without an API the host "
            "name; with kubeconfig it must be given.");
    v.field("kubeconfig", &AgentSettings::kubeconfig)
        .description(
            "File with credentials for the API, instead of joinDir. Without both there is no API.");
    v.field("joinDir", &AgentSettings::join_dir)
        .description("Folder that `fairlead join` has filled, with credentials for the API.");
    v.field("metricsListen", &AgentSettings::metrics_listen)
        .default_value("127.0.0.1:9294")
        .description("Where /metrics, /healthz and /readyz are served; `none`: nowhere.");
    v.field("adminSocket", &AgentSettings::admin_socket)
        .description(
            "Unix socket for `fairlead why`; `none`: there is none. Default: agent.sock in "
            "joinDir, "
            "else /run/fairlead/agent-NODE.sock.");
    v.field("lockFile", &AgentSettings::lock_file)
        .description(
            "Lock file that keeps a second agent of this node from starting. Default: agent.lock "
            "in joinDir, else "
            "/run/fairlead/agent-NODE.lock.");
    v.field("log", &AgentSettings::log).description("What is logged, and how.");
  }
};

resource::Schema config_schema(const std::vector<FeatureType>& features);
// REQUIRES: the schema has a field at that dotted path.
const resource::Field& field_at(const resource::Schema& schema, std::string_view path);
// The flags of the agent's own fields; those of its log are command::add_log_flags'.
std::vector<FlagType> own_flags();

// The file, checked: what is asked of the agent itself, and a plan for each feature of which it has
// a field.
struct AgentPlan {
  AgentSettings settings;
  std::vector<FeaturePlan> features;
};
Result<AgentPlan> plan_agent(ConfigFile& config, const std::vector<FeatureType>& features);

// ---- paths of this node's agent

std::string lock_path(const AgentSettings& settings, const std::string& node);
// Empty: there is to be none.
std::string admin_socket_path(const AgentSettings& settings, const std::string& node);

// AgentOptions from settings; reads the credentials. Errors name the field or its flag.
struct AgentOptions;
Result<AgentOptions> agent_options(const ConfigFile& config, const AgentSettings& settings,
                                   runtime::Files& files, const std::string& host_name);

}  // namespace fairlead::agent
