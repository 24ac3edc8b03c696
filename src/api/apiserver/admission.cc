#include "api/apiserver/admission.h"

#include <algorithm>

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

NodeRestriction::NodeRestriction(const runtime::Runtime& runtime, metrics::Counter& refused)
    : runtime_(runtime), refused_(refused) {}

Answer<> NodeRestriction::admit(const Proposal& proposal, store::Transaction&) {
  if (!proposal.attributes) return {};
  const identity::Decision decision =
      identity::admit_write(proposal.kind, *proposal.attributes, proposal.live, proposal.desired);
  if (decision.allowed) return {};
  return refuse(
      apimachinery::forbidden(group_resource(proposal.kind), proposal.name, decision.reason));
}

namespace {

// What a write takes of its node's pace: given back unless the write is committed, so that a draft
// that is planned again, or of which another part is refused, costs nothing.
class PaceHold final : public Admission::Hold {
 public:
  PaceHold(std::shared_ptr<http::TokenBucket> pace, double amount)
      : pace_(std::move(pace)), amount_(amount) {}
  ~PaceHold() override {
    if (amount_ > 0) pace_->give_back(amount_);
  }
  void committed() override { amount_ = 0; }

 private:
  const std::shared_ptr<http::TokenBucket> pace_;
  double amount_;
};

}  // namespace

Answer<> NodeRestriction::admit_size(const Proposal& proposal, std::size_t bytes) {
  if (!proposal.attributes || !proposal.attributes->user) return {};
  const identity::Roles roles = identity::roles_of(*proposal.attributes->user);
  if (roles.node.empty() || roles.admin || roles.controller) return {};
  const std::size_t most = proposal.kind.node.most_bytes;
  if (bytes > most)
    return refuse(apimachinery::request_entity_too_large("limit of what a node writes is " +
                                                         std::to_string(most)));
  const Instant now = runtime_.now();
  const std::shared_ptr<http::TokenBucket>& pace = pace_of(roles.node, proposal.kind, now);
  const auto amount = static_cast<double>(bytes);
  if (pace->take(now, amount)) {
    proposal.holds.push_back(std::make_unique<PaceHold>(pace, amount));
    return {};
  }
  refused_.add();
  return refuse(apimachinery::too_many_requests("too many writes, please try again later.", 2));
}

const std::shared_ptr<http::TokenBucket>& NodeRestriction::pace_of(std::string_view node,
                                                                   const resource::Kind& kind,
                                                                   Instant now) {
  constexpr std::size_t kPacesKept = 10'000;
  auto known = paces_.find(node);
  if (known == paces_.end()) {
    if (paces_.size() >= kPacesKept) paces_.clear();  // costs everyone's debt, nothing else
    known = paces_.try_emplace(std::string(node)).first;
  }
  const resource::Kind* const apart = kind.node.pace ? &kind : nullptr;
  std::vector<Pace>& paces = known->second;
  const auto at = std::ranges::find(paces, apart, &Pace::kind);
  if (at != paces.end()) return at->bucket;
  const resource::NodeAccess::Pace& pace = kind.node.pace ? *kind.node.pace : kCommonNodePace;
  paces.push_back({apart, std::make_shared<http::TokenBucket>(pace.burst, pace.per_second, now)});
  return paces.back().bucket;
}

}  // namespace fairlead::apiserver
