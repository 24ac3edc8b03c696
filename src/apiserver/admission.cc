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

Answer<> NodeRestriction::admit(const Proposal& proposal, store::Transaction&) {
  if (!proposal.attributes) return {};
  const identity::Decision decision =
      identity::admit_write(*proposal.attributes, proposal.live, proposal.desired, &nodes_);
  if (decision.allowed) return {};
  return refuse(
      apimachinery::forbidden(group_resource(proposal.kind), proposal.name, decision.reason));
}

}  // namespace fairlead::apiserver
