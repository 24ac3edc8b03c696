#include "api/apiserver/admission.h"

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

NodeRestriction::NodeRestriction(const runtime::Runtime& runtime, metrics::Counter& refused,
                                 NodeLimits limits)
    : runtime_(runtime), refused_(refused), limits_(limits) {}

Answer<> NodeRestriction::admit(const Proposal& proposal, store::Transaction&) {
  if (!proposal.attributes) return {};
  const identity::Decision decision =
      identity::admit_write(*proposal.attributes, proposal.live, proposal.desired);
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
  const bool attachment = proposal.kind.kind == "NetworkAttachment";
  const std::size_t most = proposal.kind.kind == "Lease" ? limits_.lease_bytes
                           : attachment                  ? limits_.attachment_bytes
                                                         : limits_.object_bytes;
  if (bytes > most)
    return refuse(apimachinery::request_entity_too_large("limit of what a node writes is " +
                                                         std::to_string(most)));
  const Instant now = runtime_.now();
  const std::shared_ptr<Paces>& paces = paces_of(roles.node, now);
  http::TokenBucket& pace = attachment ? paces->attachments : paces->others;
  const auto amount = static_cast<double>(bytes);
  if (pace.take(now, amount)) {
    proposal.holds.push_back(
        std::make_unique<PaceHold>(std::shared_ptr<http::TokenBucket>(paces, &pace), amount));
    return {};
  }
  refused_.add();
  return refuse(apimachinery::too_many_requests("too many writes, please try again later.", 2));
}

NodeRestriction::Paces::Paces(const NodeLimits& limits, Instant now)
    : attachments(limits.attachments.burst, limits.attachments.per_second, now),
      others(limits.others.burst, limits.others.per_second, now) {}

const std::shared_ptr<NodeRestriction::Paces>& NodeRestriction::paces_of(std::string_view node,
                                                                         Instant now) {
  constexpr std::size_t kPacesKept = 10'000;
  if (const auto known = paces_.find(node); known != paces_.end()) return known->second;
  if (paces_.size() >= kPacesKept) paces_.clear();  // costs everyone's debt, nothing else
  auto paces = std::make_shared<Paces>(limits_, now);
  return paces_.try_emplace(std::string(node), std::move(paces)).first->second;
}

}  // namespace fairlead::apiserver
