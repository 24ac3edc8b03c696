#include "features/networks/ipam/network_records.h"

#include <algorithm>
#include <utility>

namespace fairlead::ipam {

std::set<std::string> NetworkRecords::carriers(Vni vni) const {
  std::set<std::string> nodes = index_.nodes_of(vni);
  for (const LockFacts* lock : ledger_.released(vni)) nodes.insert(lock->node);
  for (const LockFacts* lock : ledger_.idle(vni)) nodes.insert(index_.node_of_owner(*lock));
  nodes.erase("");
  return nodes;
}

// Whoever came after `after` holds a lock that was made since, or has released one since: locks are
// written when they are made and when they are released. One that was written in between, because
// its attachment lost the address, may have been made at any time before: it counts.
std::set<std::string> NetworkRecords::came_between(Vni vni, store::Revision after,
                                                   store::Revision before) const {
  std::set<std::string> nodes;
  for (const LockFacts* lock : ledger_.held_since(vni, after)) {
    const bool rewritten = lock->idle || lock->regained;
    if (lock->place.revision < before || rewritten) nodes.insert(index_.node_of_owner(*lock));
  }
  for (const LockFacts* lock : ledger_.released(vni))
    if (lock->released > after) nodes.insert(lock->node);
  nodes.erase("");
  return nodes;
}

store::Place NetworkRecords::last_loss(const std::string& node, Vni vni) const {
  store::Place last;
  for (const LockFacts* lock : ledger_.released(vni))
    if (lock->node == node) last = std::max(last, lock->released_at);
  for (const LockFacts* lock : ledger_.idle(vni))
    if (index_.node_of_owner(*lock) == node)
      last = std::max(last, store::Place{lock->place.revision, 0});
  return last;
}

std::optional<SubnetFacts> NetworkRecords::set_subnet(const std::string& key,
                                                      std::optional<SubnetFacts> now) {
  return index_.set_subnet(key, std::move(now));
}

std::optional<AttachmentFacts> NetworkRecords::set_attachment(const std::string& key,
                                                              std::optional<AttachmentFacts> now,
                                                              std::optional<Mac> mac) {
  pool_.release_mac(key);
  if (now && mac) pool_.take_mac(key, now->vni, *mac);
  return index_.set_attachment(key, std::move(now));
}

std::optional<LockFacts> NetworkRecords::set_lock(const std::string& key,
                                                  std::optional<LockFacts> now) {
  if (now) pool_.take(now->vni, now->ip);
  const bool gone = !now;
  std::optional<LockFacts> before = ledger_.set_lock(key, std::move(now));
  if (before && gone) give_back(before->vni, before->ip);
  return before;
}

void NetworkRecords::note_attachment_change(const std::string& attachment_uid, store::Place at) {
  ledger_.note_attachment_change(attachment_uid, at);
}

void NetworkRecords::give_back(Vni vni, const Ip& ip) {
  if (!ledger_.lock_at(vni, ip)) pool_.release(vni, ip);
}

}  // namespace fairlead::ipam
