#include "features/vip/config/vip_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/resource/schema/describe.h"
#include "features/vip/config/bgp_check.h"
#include "features/vip/config/election_check.h"
#include "features/vip/config/kube_vip_form.h"
#include "features/vip/config/kube_vip_settings.h"
#include "features/vip/config/vip_settings.h"
#include "features/vip/config/virtual_ip_check.h"

namespace fairlead::vip {
namespace {

std::string text_at(const Json& config, std::string_view path) {
  return std::string(wire::find_string(config, path));
}

// The first field of kube-vip's form that the file has; empty: none.
std::string kube_vip_field(const Json& config) {
  for (const resource::Field& field : resource::schema_of<KubeVipSettings>().fields)
    if (wire::find(config, field.name)) return field.name;
  return {};
}

template <class T>
std::optional<T> decoded(const Json& config, FieldErrors& errors) {
  Result<T> settings = resource::decode<T>(config);
  if (settings) return std::move(*settings);
  errors.push_back(resource::invalid("election", Json(), settings.error().message));
  return std::nullopt;
}

// A store that is reached through a VIP could not be asked who is to hold it.
void check_store_is_not_behind(VipPlan& plan, FieldErrors& errors) {
  for (std::size_t i = 0; i < plan.election.etcd_endpoints.size(); ++i) {
    const std::string& endpoint = plan.election.etcd_endpoints[i];
    const Result<WebAddress> at = parse_web_address(endpoint);
    const Result<Ip> host = at ? Ip::parse(at->host) : Result<Ip>(fail(at.error()));
    if (!host) continue;
    const bool behind = std::ranges::any_of(
        plan.vips, [&](const VipEntry& entry) { return entry.vip.address == *host; });
    if (behind)
      refuse(errors, item("election.etcd.endpoints", i), endpoint,
             "is one of the virtual IPs: nobody could be elected while nobody holds it");
  }
}

void take_own_form(const Json& config, VipPlan& plan, MemberList& members, FieldErrors& errors) {
  const std::optional<VipSettings> settings = decoded<VipSettings>(config, errors);
  if (!settings) return;
  if (!settings->election) return errors.push_back(resource::required("election"));
  const AgentApi api{.kubeconfig = text_at(config, "kubeconfig"),
                     .join_dir = text_at(config, "joinDir")};
  check_election(*settings->election, api, plan, members, errors);
  check_virtual_ips(settings->virtual_ips, members, plan, errors);
  check_bgp(settings->bgp, plan, errors);
  check_store_is_not_behind(plan, errors);
  if (settings->from_api) {
    plan.from_api = check_from_api("virtualIPsFromAPI", *settings->from_api, errors);
    if (api.kubeconfig.empty() && api.join_dir.empty())
      errors.push_back(resource::forbidden("virtualIPsFromAPI",
                                           "needs an API: set kubeconfig or joinDir of the agent"));
  }
  if (plan.election.witness && !settings->virtual_ips.empty())
    refuse(errors, "election.witness", "true",
           "a witness holds nothing, but virtualIPs has addresses");
  if (plan.election.witness && settings->from_api)
    refuse(errors, "election.witness", "true",
           "a witness holds nothing, but virtualIPsFromAPI is set");
  if (!plan.election.witness && settings->virtual_ips.empty() && !settings->from_api) {
    plan.election.witness = true;
    plan.notes.emplace_back("virtualIPs: there are none, so this node only votes");
  }
}

void check_state(const std::string& state, VipPlan& plan, FieldErrors& errors) {
  if (state.empty()) return;
  if (!state.starts_with('/')) refuse(errors, "state", state, "must be an absolute path");
  plan.state_dir = state;
}

}  // namespace

std::vector<resource::Field> vip_fields() {
  std::vector<resource::Field> fields = resource::schema_of<VipSettings>().fields;
  std::ranges::copy(resource::schema_of<KubeVipSettings>().fields, std::back_inserter(fields));
  return fields;
}

std::vector<agent::FlagType> vip_flags() { return {{.flag = "--state", .path = "state"}}; }

VipPlan check_vip(const Json& config, FieldErrors& errors) {
  VipPlan plan;
  plan.node = text_at(config, "node");
  check_state(text_at(config, "state"), plan, errors);
  const std::string theirs = kube_vip_field(config);
  const bool own = wire::find(config, "election") || wire::find(config, "virtualIPs") ||
                   wire::find(config, "virtualIPsFromAPI");
  if (own && !theirs.empty()) {
    errors.push_back(resource::forbidden(
        theirs,
        "is of kube-vip's form of the file, which cannot be mixed with election and "
        "virtualIPs"));
    return plan;
  }
  MemberList members;
  if (theirs.empty()) {
    take_own_form(config, plan, members, errors);
  } else if (const auto settings = decoded<KubeVipSettings>(config, errors)) {
    plan_kube_vip(*settings, plan, members, errors);
  }
  const bool counted = members.has(plan.node);
  note_weaknesses(plan, members.size() + (counted ? 0 : 1));
  return plan;
}

Result<> name_node(VipPlan& plan, const std::string& node) {
  ElectionConfig& election = plan.election;
  if (!plan.node.empty() && plan.node != node)
    return fail(Code::invalid,
                fmt::format("the election's members call this node {}, but its name is {}: set "
                            "node, or the name among the peers",
                            plan.node, node));
  std::vector<Member>& members = election.settings.members;
  if (plan.node.empty() && election.backend == Backend::raft) {
    if (const Member* other = election.settings.find(node))
      return fail(Code::invalid,
                  fmt::format("election.peers: {} is this node's name, but its address there is {} "
                              "and this node listens on {}",
                              node, other->address, election.own_address));
    members.push_back({.name = node, .address = election.own_address});
    std::ranges::sort(members, {}, &Member::name);
  }
  plan.node = node;
  return {};
}

}  // namespace fairlead::vip
