#include "features/networks/node/networks_settings.h"

#include "api/resource/schema/validation.h"
#include "features/networks/node/host_claim.h"
#include "foundation/base/duration_text.h"
#include "foundation/base/host_address.h"

namespace fairlead::networks {
namespace {

constexpr const char* kClaims = "/run/fairlead/agents.lock";

Duration positive_duration(const std::string& path, const std::string& text,
                           resource::FieldErrors& errors) {
  const Result<Duration> duration = parse_duration(text);
  if (!duration) {
    errors.push_back(resource::invalid(path, Json(text), duration.error().message));
    return 1s;
  }
  if (*duration <= Duration::zero())
    errors.push_back(resource::invalid(path, Json(text), "must be positive"));
  return *duration;
}

Ip host_of(const std::string& text, resource::FieldErrors& errors) {
  const std::string path = "networks.host";
  const Result<Ip> host = Ip::parse(text);
  if (!host) {
    errors.push_back(resource::invalid(path, Json(text), host.error().message));
    return {};
  }
  if (const std::string_view problem = host_address_problem(*host); !problem.empty())
    errors.push_back(resource::invalid(path, Json(text), std::string(problem)));
  return *host;
}

std::vector<agent::FlagType> flags() {
  const std::string hooks = "Hooks";
  return {{.flag = "--host-ip", .path = "networks.host"},
          {.flag = "--fabric", .path = "networks.fabric"},
          {.flag = "--ovs-run-dir", .path = "networks.ovs.runDir"},
          {.flag = "--ovs-datapath", .path = "networks.ovs.datapath"},
          {.flag = "--mtu", .path = "networks.mtu"},
          {.flag = "--audit-interval", .path = "networks.auditInterval"},
          {.flag = "--allowed-program", .path = "networks.hooks.allowedPrograms", .group = hooks},
          {.flag = "--hook-timeout", .path = "networks.hooks.timeout", .group = hooks},
          {.flag = "--hook-output", .path = "networks.hooks.output", .group = hooks},
          {.flag = "--hooks-at-once", .path = "networks.hooks.atOnce", .group = hooks}};
}

// A fabric of this host and its claim, for as long as the feature lives.
struct Owned {
  std::optional<HostClaim> claim;
  std::unique_ptr<fabric::Fabric> fabric;
};

Result<std::unique_ptr<agent::NodeFeature>> make_networks(const NetworksConfig& config,
                                                          const agent::NodeContext& context) {
  if (!context.processes) return fail(Code::internal, "programs cannot be run here");
  auto owned = std::make_shared<Owned>();
  if (config.fabric.name != "log") {
    FL_TRY(HostClaim claim, HostClaim::take(kClaims, config.fabric.name));
    owned->claim.emplace(std::move(claim));
  }
  FL_TRY(owned->fabric, make_fabric(context.runtime, config.fabric));
  NetworksNode::Parts parts{.fabric = *owned->fabric, .processes = *context.processes};
  parts.owned = std::move(owned);
  return std::make_unique<NetworksNode>(context, std::move(parts), config.options);
}

}  // namespace

NetworksConfig check_networks(const Json& config, resource::FieldErrors& errors) {
  NetworksConfig checked;
  Json section = *wire::find(config, "networks");
  // Defaults of members count also where their part is not given.
  for (const char* part : {"ovs", "hooks"}) section.get_object().emplace(part, JsonObject());
  resource::apply_defaults(resource::schema_of<NetworksSettings>(), section);
  const Result<NetworksSettings> decoded = resource::decode<NetworksSettings>(section);
  if (!decoded) {
    errors.push_back(resource::invalid("networks", section, decoded.error().message));
    return checked;
  }
  checked.options.host = host_of(decoded->host, errors);
  checked.options.audit_interval =
      positive_duration("networks.auditInterval", decoded->audit_interval, errors);
  HookLimits& hooks = checked.options.hooks;
  for (std::size_t i = 0; i < decoded->hooks.allowed_programs.size(); ++i) {
    const std::string& program = decoded->hooks.allowed_programs[i];
    if (!program.starts_with('/'))
      errors.push_back(
          resource::invalid("networks.hooks.allowedPrograms[" + std::to_string(i) + "]",
                            Json(program), "must be an absolute path"));
    hooks.allowed_programs.insert(program);
  }
  hooks.time = positive_duration("networks.hooks.timeout", decoded->hooks.timeout, errors);
  hooks.output = static_cast<std::size_t>(decoded->hooks.output);
  hooks.at_once = decoded->hooks.at_once;
  checked.fabric = {.name = decoded->fabric,
                    .host = checked.options.host,
                    .ovs_run_dir = decoded->ovs.run_dir,
                    .ovs_datapath = decoded->ovs.datapath,
                    .mtu = static_cast<std::uint32_t>(decoded->mtu)};
  return checked;
}

agent::FeatureType networks_type() {
  resource::Schema schema = resource::schema_of<NetworksSettings>();
  schema.description =
      "Virtual networks on this node. They need an API: set joinDir or kubeconfig.";
  return {.name = "networks",
          .fields = {{.name = "networks", .schema = std::move(schema), .required = false}},
          .flags = flags(),
          .without_file = true,
          .plan = [](const Json& file, resource::FieldErrors& errors) -> agent::FeaturePlan {
            const NetworksConfig config = check_networks(file, errors);
            return {
                .name = "networks",
                .needs_api = true,
                .host = config.options.host,
                .make =
                    [config](const agent::NodeContext& context) {
                      return make_networks(config, context);
                    },
                .check = [config](runtime::Files& files,
                                  agent::Checklist& checks) { check_host(config, files, checks); }};
          }};
}

}  // namespace fairlead::networks
