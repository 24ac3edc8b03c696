#include "node/agent/agent_settings.h"

#include <algorithm>

#include "api/identity/user.h"
#include "api/resource/schema/validation.h"
#include "foundation/base/check.h"
#include "node/agent/node_agent.h"

namespace fairlead::agent {
namespace {

constexpr const char* kRunFolder = "/run/fairlead/agent-";
constexpr std::string_view kNone = "none";

Error wrong(const ConfigFile& config, const std::string& path, const std::string& what) {
  return {Code::invalid, config.where(path) + ": " + what};
}

// Who this node is, and its way to the API if it has one.
Result<> read_credentials(const ConfigFile& config, const AgentSettings& settings,
                          runtime::Files& files, AgentOptions& options) {
  const std::string path = settings.join_dir.empty() ? "kubeconfig" : "joinDir";
  Result<ApiAccess> access = read_access(files, options.credentials);
  if (!access) return fail(std::move(access).error().context(config.where(path)));
  const std::string& joined_as = access->joined_as;
  if (options.node.empty()) options.node = joined_as;
  if (!joined_as.empty() && options.node != joined_as)
    return fail(wrong(config, path, settings.join_dir + " is that of node " + joined_as));
  options.api = std::move(*access);
  if (options.node.empty()) return fail(wrong(config, "node", "the node's name must be given"));
  return {};
}

}  // namespace

resource::Schema config_schema(const std::vector<FeatureType>& features) {
  resource::Schema schema = resource::schema_of<AgentSettings>();
  schema.description = "Configuration of fairlead agent.";
  for (const FeatureType& feature : features)
    std::ranges::copy(feature.fields, std::back_inserter(schema.fields));
  return schema;
}

const resource::Field& field_at(const resource::Schema& schema, std::string_view path) {
  const std::size_t dot = path.find('.');
  const resource::Field* field = schema.find(path.substr(0, dot));
  CHECK(field != nullptr);
  return dot == std::string_view::npos ? *field : field_at(field->schema, path.substr(dot + 1));
}

std::vector<FlagType> own_flags() {
  return {{.flag = "--node", .path = "node"},
          {.flag = "--kubeconfig", .path = "kubeconfig"},
          {.flag = "--join-dir", .path = "joinDir"},
          {.flag = "--metrics-listen", .path = "metricsListen"},
          {.flag = "--admin-socket", .path = "adminSocket"},
          {.flag = "--lock-file", .path = "lockFile"}};
}

Result<AgentPlan> plan_agent(ConfigFile& config, const std::vector<FeatureType>& features) {
  FL_CHECKED(config.check(config_schema(features)));
  AgentPlan plan;
  // Defaults of members count also where their section is not given.
  Json own = config.value();
  for (const char* section : {"log"}) own.get_object().emplace(section, JsonObject());
  resource::apply_defaults(resource::schema_of<AgentSettings>(), own);
  FL_TRY(plan.settings, resource::decode<AgentSettings>(own));
  resource::FieldErrors errors;
  for (const FeatureType& feature : features) {
    const bool configured = std::ranges::any_of(
        feature.fields, [&](const resource::Field& field) { return config.has(field.name); });
    if (configured) plan.features.push_back(feature.plan(config.value(), errors));
  }
  FL_CHECKED(config.refuse(errors));
  return plan;
}

std::string lock_path(const AgentSettings& settings, const std::string& node) {
  if (!settings.lock_file.empty()) return settings.lock_file;
  if (!settings.join_dir.empty()) return settings.join_dir + "/agent.lock";
  return kRunFolder + node + ".lock";
}

std::string admin_socket_path(const AgentSettings& settings, const std::string& node) {
  if (settings.admin_socket == kNone) return {};
  if (!settings.admin_socket.empty()) return settings.admin_socket;
  if (!settings.join_dir.empty()) return settings.join_dir + "/agent.sock";
  return kRunFolder + node + ".sock";
}

Result<AgentOptions> agent_options(const ConfigFile& config, const AgentSettings& settings,
                                   runtime::Files& files, const std::string& host_name) {
  AgentOptions options;
  options.node = settings.node;
  options.credentials = {.kubeconfig = settings.kubeconfig, .join_dir = settings.join_dir};
  if (!settings.kubeconfig.empty() && !settings.join_dir.empty())
    return fail(wrong(config, "kubeconfig",
                      "only one of kubeconfig and joinDir may be given, not both (" +
                          config.where("joinDir") + ")"));
  if (options.credentials.empty()) {
    if (options.node.empty()) options.node = host_name;
  } else {
    FL_CHECKED(read_credentials(config, settings, files, options));
  }
  if (!identity::is_node_name(options.node))
    return fail(wrong(config, "node", "is not a valid node name"));
  if (!settings.metrics_listen.empty() && settings.metrics_listen != kNone) {
    Result<runtime::Endpoint> at = runtime::Endpoint::parse(settings.metrics_listen);
    if (!at) return fail(wrong(config, "metricsListen", at.error().message));
    options.metrics_listen = std::move(*at);
  }
  if (const std::string path = admin_socket_path(settings, options.node); !path.empty()) {
    Result<runtime::Endpoint> at = runtime::Endpoint::parse("unix:" + path);
    if (!at) return fail(wrong(config, "adminSocket", at.error().message));
    options.admin_socket = std::move(*at);
  }
  return options;
}

}  // namespace fairlead::agent
