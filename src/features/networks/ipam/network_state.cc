#include "features/networks/ipam/network_state.h"

#include <optional>
#include <utility>

namespace fairlead::ipam {

using watchcache::ObjectRef;

NetworkState::NetworkState(const resource::Catalog& catalog, watchcache::WatchCache& cache)
    : subnets_(catalog.find("fairlead.dev", "v1alpha1", "subnets")),
      attachments_(catalog.find("fairlead.dev", "v1alpha1", "networkattachments")),
      locks_(catalog.find("fairlead.dev", "v1alpha1", "iplocks")),
      reports_(catalog.find("fairlead.dev", "v1alpha1", "nodereports")),
      silent_since_field_(place_of_field(*reports_, "silentSince")),
      cache_(cache) {
  cache.on_reset([this] { rebuild(); });
  cache.observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    const ObjectRef& known = event.after() ? event.after() : event.before();
    if (&kind == subnets_) take_in_subnet(known->key(), event.after());
    if (&kind == attachments_) {
      records_.note_attachment_change(known->uid, event.place());
      take_in_attachment(known->key(), event.after());
    }
    if (&kind == locks_) take_in_lock(known->key(), event.after());
  });
}

bool NetworkState::is_known(std::string_view node) const {
  return cache_.of(*reports_).find(node) != nullptr;
}

void NetworkState::take_in_subnet(const std::string& key, const ObjectRef& after) {
  std::optional<SubnetFacts> facts;
  if (after) facts = subnet_facts(*subnets_, *after);
  const std::optional<SubnetFacts> before = records_.set_subnet(key, std::move(facts));
  for (const Listener& listener : listeners_)
    if (listener.subnet) listener.subnet(before ? &*before : nullptr, index().subnet(key));
}

void NetworkState::take_in_attachment(const std::string& key, const ObjectRef& after) {
  std::optional<AttachmentFacts> facts;
  if (after) facts = attachment_facts(*attachments_, *after);
  // Only attachments without an IPv4 address have a MAC that is not implied by it.
  const bool has_mac = facts && facts->vni != 0 && facts->ipv4.empty();
  // Most changes are of what is not kept here.
  if (const AttachmentFacts* known = index().attachment(key); known && facts == *known && !has_mac)
    return;
  const std::optional<AttachmentFacts> before =
      records_.set_attachment(key, std::move(facts), has_mac ? mac_in(*after) : std::nullopt);
  const AttachmentFacts* now = index().attachment(key);
  for (const Listener& listener : listeners_)
    if (listener.attachment) listener.attachment(before ? &*before : nullptr, now);
}

void NetworkState::take_in_lock(const std::string& key, const ObjectRef& after) {
  const std::optional<LockFacts> before =
      records_.set_lock(key, after ? lock_facts(*after) : std::nullopt);
  const LockFacts* now = ledger().lock(key);
  if (!before && !now) return;
  for (const Listener& listener : listeners_)
    if (listener.lock) listener.lock(before ? &*before : nullptr, now);
}

void NetworkState::rebuild() {
  records_ = {};
  std::vector<Listener> listeners;
  listeners.swap(listeners_);  // they hear of the whole at once
  for (const auto& [key, object] : cache_.of(*subnets_).objects()) take_in_subnet(key, object);
  for (const auto& [key, object] : cache_.of(*locks_).objects()) take_in_lock(key, object);
  for (const auto& [key, object] : cache_.of(*attachments_).objects())
    take_in_attachment(key, object);
  listeners_.swap(listeners);
  for (const Listener& listener : listeners_)
    if (listener.reset) listener.reset();
}

}  // namespace fairlead::ipam
