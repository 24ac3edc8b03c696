#include "api/delegation/host_namespaces.h"

#include <map>
#include <utility>

namespace fairlead::delegation {
namespace {

using apimachinery::refuse;
using apiserver::Answer;

const client::ResourceName kNamespaces{"", "v1", "namespaces", false};

std::string name_of(const Json& object) {
  return std::string(wire::find_string(object, "metadata.name"));
}

}  // namespace

HostNamespaces::HostNamespaces(runtime::Runtime& runtime, client::RestClient& host)
    : host_(host),
      reflector_(runtime, host,
                 {.resource = kNamespaces,
                  .namespace_name = {},
                  .label_selector = {},
                  .field_selector = {}},
                 *this) {}

void HostNamespaces::replace(std::vector<Json> objects, const std::string&) {
  phases_.clear();
  for (const Json& object : objects) put(object);
}

void HostNamespaces::put(const Json& object) {
  const bool going = wire::find(object, "metadata.deletionTimestamp") ||
                     wire::find_string(object, "status.phase") == "Terminating";
  phases_[name_of(object)] = going ? Phase::terminating : Phase::active;
}

void HostNamespaces::erase(const Json& last_state) { phases_.erase(name_of(last_state)); }

Answer<> HostNamespaces::admit(const Proposal& proposal, store::Transaction&) {
  const bool creates = proposal.live == nullptr && proposal.desired != nullptr;
  if (!creates || !proposal.kind.namespaced) return {};
  const auto at = phases_.find(proposal.namespace_name);
  if (at == phases_.end())
    return refuse(apimachinery::not_found({"", "namespaces"}, proposal.namespace_name));
  if (at->second == Phase::terminating)
    return refuse(apimachinery::namespace_terminating(apimachinery::group_resource(proposal.kind),
                                                      proposal.name, proposal.namespace_name));
  return {};
}

std::optional<HostNamespaces::Phase> HostNamespaces::phase_of(std::string_view name) const {
  const auto at = phases_.find(name);
  return at == phases_.end() ? std::nullopt : std::optional(at->second);
}

Task<Result<bool>> HostNamespaces::catch_up(const std::vector<apiserver::WriteItem>& items) {
  std::map<std::string, std::optional<Phase>> doubtful;  // as it was refused on
  for (const apiserver::WriteItem& item : items) {
    if (!item.kind->namespaced) continue;
    const std::optional<Phase> phase = phase_of(item.namespace_name);
    if (phase != Phase::active) doubtful.emplace(item.namespace_name, phase);
  }
  bool changed = false;
  for (const auto& [name, before] : doubtful) {
    FL_CO_CHECKED(co_await look_up(name));
    changed = changed || phase_of(name) != before;
  }
  co_return changed;
}

Task<Result<>> HostNamespaces::look_up(std::string name) {
  Task<Result<Json>> asking = host_.get(kNamespaces, "", name);
  Result<Json> found = co_await asking;
  if (found) {
    put(*found);
  } else if (found.error().code == Code::not_found) {
    phases_.erase(name);
  } else {
    co_return fail(Code::unavailable, "the host cluster does not say whether namespace \"" + name +
                                          "\" exists: " + found.error().message);
  }
  co_return Result<>{};
}

}  // namespace fairlead::delegation
