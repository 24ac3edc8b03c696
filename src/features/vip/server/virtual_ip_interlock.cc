#include "features/vip/server/virtual_ip_interlock.h"

#include <utility>
#include <vector>

#include "api/controllers/told_events.h"
#include "api/identity/user.h"
#include "api/resource/columns.h"
#include "api/store/transaction.h"
#include "features/vip/kinds/virtual_ip.h"
#include "features/vip/server/virtual_ip_words.h"
#include "foundation/base/ip.h"

namespace fairlead::vip {

using apimachinery::refuse;
using apiserver::Answer;

namespace {

constexpr std::string_view kGuard = "virtualips";
constexpr std::size_t kAddressField = 0;  // of kind.selectable

// The node that writes; empty: somebody who may write everything.
std::string_view node_of(const apiserver::Admission::Proposal& proposal) {
  if (!proposal.attributes || !proposal.attributes->user) return {};
  const identity::Roles roles = identity::roles_of(*proposal.attributes->user);
  return roles.admin || roles.controller ? std::string_view() : roles.node;
}

// The conditions are nobody's to write.
void keep_conditions(const Json* live, Json& desired) {
  const Json* known = live ? wire::find(*live, "status.conditions") : nullptr;
  Json& status = desired.get_object()["status"];
  if (!status.is_object()) status = JsonObject();
  if (known)
    status.get_object()["conditions"] = *known;
  else
    status.get_object().erase("conditions");
}

void drop_strangers(Json& desired) {
  Json* nodes = desired.get_object()["status"].get_object().if_contains("nodes");
  const Json* spec = wire::find(desired, "spec");
  if (!nodes || !nodes->is_object() || !spec) return;
  std::vector<std::string> strangers;
  for (const auto& node : nodes->get_object())
    if (!takes_part(*spec, node.key())) strangers.emplace_back(node.key());
  for (const std::string& name : strangers) nodes->get_object().erase(name);
}

}  // namespace

std::string node_may_not(std::string_view node, const Json& live, const Json& desired) {
  const JsonObject& before = resource::members_at(live, "status.nodes");
  const JsonObject& after = resource::members_at(desired, "status.nodes");
  for (const JsonObject* side : {&before, &after})
    for (const auto& entry : *side) {
      if (std::string_view(entry.key()) == node) continue;
      if (!resource::same_content(before.if_contains(entry.key()), after.if_contains(entry.key())))
        return "a node may tell only of itself in status.nodes";
    }
  const std::string_view holder = wire::find_string(desired, "status.holder");
  if (holder == node) return {};
  const bool same_holder = holder == wire::find_string(live, "status.holder");
  if (!same_holder && !holder.empty()) return "a node may make only itself the holder";
  if (!same_holder) return {};
  for (const char* field : {"epoch", "since", "health", "fenced", "observedGeneration"}) {
    const std::string path = "status." + std::string(field);
    if (!resource::same_content(wire::find(live, path), wire::find(desired, path)))
      return path + " is the holder's to tell";
  }
  return {};
}

VirtualIpInterlock::VirtualIpInterlock(runtime::Runtime& runtime, const resource::Catalog& catalog,
                                       const watchcache::WatchCache& cache,
                                       control::EventRecorder& events)
    : runtime_(runtime),
      kind_(catalog.find_kind(resource::kFairleadApiVersion, kVirtualIpKind)),
      cache_(cache),
      events_(events) {
  CHECK(kind_ && kind_->selectable[kAddressField] == "spec.address");
}

Answer<> VirtualIpInterlock::admit(const Proposal& proposal, store::Transaction& transaction) {
  if (&proposal.kind != kind_ || !proposal.desired) return {};
  Json& desired = *proposal.desired;
  if (!proposal.live)
    if (Answer<> admitted = admit_new(proposal, transaction); !admitted) return admitted;
  if (const std::string_view node = node_of(proposal); !node.empty() && proposal.live)
    if (std::string problem = node_may_not(node, *proposal.live, desired); !problem.empty())
      return refuse(
          apimachinery::forbidden(apimachinery::group_resource(*kind_), proposal.name, problem));
  keep_conditions(proposal.live, desired);
  drop_strangers(desired);
  for (const resource::Condition& condition : conditions_of(desired))
    resource::set_condition(desired, condition, runtime_.wall_now());
  std::vector<control::Happening> happenings = happenings_of(proposal.live, desired);
  if (!happenings.empty())
    proposal.holds.push_back(
        std::make_unique<controllers::ToldEvents>(events_, std::move(happenings)));
  return {};
}

Answer<> VirtualIpInterlock::admit_new(const Proposal& proposal,
                                       store::Transaction& transaction) const {
  const std::string_view text = wire::find_string(*proposal.desired, "spec.address");
  const Result<Ip> address = Ip::parse(text);
  const auto& others = cache_.of(*kind_).objects();
  if (others.size() >= kMostVirtualIps)
    return refuse(apimachinery::forbidden(
        apimachinery::group_resource(*kind_), proposal.name,
        "there are " + std::to_string(others.size()) + " already, which is the limit"));
  for (const auto& [key, other] : others) {
    const Result<Ip> taken = Ip::parse(other->fields[kAddressField]);
    if (!address || !taken || *taken != *address) continue;
    return refuse(apimachinery::invalid(
        *kind_, proposal.name,
        {resource::invalid("spec.address", Json(text),
                           "is the address of virtual IP " + other->name + ", too")}));
  }
  std::string key = watchcache::WatchCache::guard_key(kGuard);
  if (store::operates_on(transaction, key))
    return refuse(apimachinery::bad_request("a transaction may create only one virtual IP"));
  transaction.compares.push_back({key, cache_.guard_revision(kGuard)});
  transaction.operations.push_back(
      {store::Operation::Kind::put, std::move(key), Bytes(std::string("1"))});
  return {};
}

}  // namespace fairlead::vip
