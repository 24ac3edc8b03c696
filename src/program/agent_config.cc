#include "program/agent_config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "api/apiserver/version.h"
#include "foundation/command/host_name.h"
#include "node/agent/node_info.h"
#include "program/features.h"

namespace fairlead::program {
namespace {

// As the field's type has it. What is no number stays text, which the schema then refuses.
Json json_of(const resource::Field& field, const std::vector<std::string>& values) {
  if (field.schema.type == resource::Schema::Type::array) {
    JsonArray items;
    for (const std::string& value : values) items.emplace_back(value);
    return items;
  }
  const std::string& text = values.back();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (field.schema.type == resource::Schema::Type::integer && whole) return number;
  return Json(text);
}

std::optional<Json> json_if(bool given, const std::string& value) {
  return given ? std::optional<Json>(value) : std::nullopt;
}

std::vector<agent::FlagValue> flag_values(const AgentFlags& flags) {
  const resource::Schema schema = agent::config_schema(node_features());
  std::vector<agent::FlagValue> values{
      {"--log-format", "log.format", json_if(flags.log_format_given, flags.log.format)},
      {"--log-level", "log.level", json_if(flags.log_level_given, flags.log.level)}};
  for (const agent::FlagType& type : field_flags()) {
    const auto given = flags.fields.find(type.flag);
    std::optional<Json> value;
    if (given != flags.fields.end() && !given->second.empty())
      value = json_of(agent::field_at(schema, type.path), given->second);
    values.push_back({type.flag, type.path, std::move(value)});
  }
  return values;
}

}  // namespace

std::vector<agent::FlagType> field_flags() {
  std::vector<agent::FlagType> all = agent::own_flags();
  for (const agent::FeatureType& feature : node_features())
    std::ranges::copy(feature.flags, std::back_inserter(all));
  return all;
}

agent::Environment own_environment() {
  agent::Environment variables;
  for (char** at = environ; at && *at; ++at) {
    const std::string_view text = *at;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Result<AgentConfig> read_config(const AgentFlags& flags, runtime::Files& files,
                                const agent::Environment& environment) {
  AgentConfig config;
  if (!flags.config.empty()) {
    FL_TRY(config.file, agent::ConfigFile::read(files, flags.config));
  }
  for (const agent::FeatureType& feature : node_features()) {
    if (!feature.adopt) continue;
    FL_CHECKED(feature.adopt(config.file, environment));
  }
  const bool nothing_said = config.file.value().get_object().empty();
  // A flag for one kind of credentials overrides also the file's other kind.
  const bool join_dir = flags.fields.contains("--join-dir");
  const bool kubeconfig = flags.fields.contains("--kubeconfig");
  if (join_dir && !kubeconfig) config.file.drop("kubeconfig");
  if (kubeconfig && !join_dir) config.file.drop("joinDir");
  config.file.lay_over(flag_values(flags));
  for (const agent::FeatureType& feature : node_features())
    for (const resource::Field& field : feature.fields)
      if (flags.config.empty() && nothing_said && feature.without_file &&
          !config.file.has(field.name))
        config.file.lay_over({{"", field.name, Json(JsonObject())}});
  FL_TRY(config.plan, agent::plan_agent(config.file, node_features()));
  return config;
}

Result<agent::AgentOptions> read_options(const AgentConfig& config, runtime::Files& files) {
  const std::vector<agent::FeaturePlan>& features = config.plan.features;
  FL_TRY(agent::AgentOptions options,
         agent::agent_options(config.file, config.plan.settings, files, command::own_host_name()));
  FL_CHECKED(agent::runnable(features, options.api.has_value()));
  for (const agent::FeaturePlan& feature : features)
    if (!options.host) options.host = feature.host;
  options.info = agent::read_node_info(files, apiserver::kVersion);
  return options;
}

}  // namespace fairlead::program
