#include "apiserver/admission.h"

namespace fairlead::apiserver {

using apimachinery::group_resource;
using apimachinery::refuse;

NamespaceLifecycle::NamespaceLifecycle(const resource::Catalog& catalog,
                                       const watchcache::WatchCache& cache)
    : namespaces_(catalog.find("", "v1", "namespaces")), cache_(cache) {}

Answer<> NamespaceLifecycle::admit(const Proposal& proposal, store::Transaction& transaction) {
  const bool creates = proposal.live == nullptr && proposal.desired != nullptr;
  if (!creates || !proposal.kind.namespaced || !namespaces_) return {};
  const watchcache::ObjectRef home = cache_.of(*namespaces_).find(proposal.namespace_name);
  if (!home)
    return refuse(apimachinery::not_found(group_resource(*namespaces_), proposal.namespace_name));
  if (home->deleting)
    return refuse(apimachinery::namespace_terminating(group_resource(proposal.kind), proposal.name,
                                                      proposal.namespace_name));
  std::string key = watchcache::store_key(*namespaces_, "", proposal.namespace_name);
  for (const store::Compare& compare : transaction.compares)
    if (compare.key == key) return {};  // several creates in one namespace share one compare
  transaction.compares.push_back({std::move(key), home->place.revision});
  return {};
}

NodeRestriction::NodeRestriction(const identity::NodeFacts& nodes, const runtime::Runtime& runtime,
                                 const resource::Catalog& catalog,
                                 const watchcache::WatchCache& cache, metrics::Counter& refused,
                                 NodeLimits limits)
    : nodes_(nodes),
      runtime_(runtime),
      events_(catalog.find("", "v1", "events")),
      cache_(cache),
      refused_(refused),
      limits_(limits) {}

Answer<> NodeRestriction::admit(const Proposal& proposal, store::Transaction&) {
  if (!proposal.attributes) return {};
  const identity::Decision decision =
      identity::admit_write(*proposal.attributes, proposal.live, proposal.desired, &nodes_);
  if (decision.allowed) return {};
  return refuse(
      apimachinery::forbidden(group_resource(proposal.kind), proposal.name, decision.reason));
}

Answer<> NodeRestriction::admit_size(const Proposal& proposal, std::size_t bytes) {
  if (!proposal.attributes || !proposal.attributes->user) return {};
  const identity::Roles roles = identity::roles_of(*proposal.attributes->user);
  if (roles.node.empty() || roles.admin || roles.controller) return {};
  const bool event = &proposal.kind.storage() == events_;
  const bool small = event || proposal.kind.kind == "Lease";
  const std::size_t most = small                                       ? limits_.event_bytes
                           : proposal.kind.kind == "NetworkAttachment" ? limits_.attachment_bytes
                                                                       : limits_.object_bytes;
  if (bytes > most)
    return refuse(apimachinery::request_entity_too_large("limit of what a node writes is " +
                                                         std::to_string(most)));
  return event ? admit_event(roles.node, bytes) : Answer<>{};
}

Answer<> NodeRestriction::admit_event(std::string_view node, std::size_t bytes) {
  constexpr std::size_t kPacesKept = 10'000;
  if (paces_.size() >= kPacesKept) paces_.clear();  // costs everyone's debt, nothing else
  const Instant now = runtime_.now();
  const auto [pace, added] =
      paces_.try_emplace(std::string(node), limits_.events_burst, limits_.events_per_second, now);
  const bool room = cache_.of(*events_).object_bytes() + bytes <= limits_.all_events_bytes;
  if (room && pace->second.take(now, static_cast<double>(bytes))) return {};
  refused_.add();
  return refuse(apimachinery::too_many_requests("too many events, please try again later.", 10));
}

}  // namespace fairlead::apiserver
