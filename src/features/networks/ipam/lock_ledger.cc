#include "features/networks/ipam/lock_ledger.h"

#include <utility>

namespace fairlead::ipam {
namespace {

const std::set<std::string> kNone;

// Takes `entry` out of the group `of`, and the group with its last entry.
template <class Groups, class Group, class Entry>
void drop(Groups& groups, const Group& of, const Entry& entry) {
  const auto group = groups.find(of);
  if (group == groups.end()) return;
  group->second.erase(entry);
  if (group->second.empty()) groups.erase(group);
}

}  // namespace

const LockFacts* LockLedger::lock(std::string_view key) const {
  const auto found = lock_by_key_.find(key);
  return found == lock_by_key_.end() ? nullptr : &found->second;
}

const LockFacts* LockLedger::lock_at(Vni vni, const Ip& ip) const {
  const auto found = locks_by_address_.find({vni, ip});
  return found == locks_by_address_.end() ? nullptr : lock(*found->second.begin());
}

const std::set<std::string>& LockLedger::locks_of(std::string_view attachment_uid) const {
  const auto found = locks_by_owner_.find(attachment_uid);
  return found == locks_by_owner_.end() ? kNone : found->second;
}

std::set<std::string> LockLedger::namespaces_holding(Vni vni) const {
  std::set<std::string> namespaces;
  if (const auto found = locks_by_namespace_.find(vni); found != locks_by_namespace_.end())
    for (const auto& [name, count] : found->second) namespaces.insert(name);
  return namespaces;
}

bool LockLedger::holds_addresses(Vni vni, const std::string& namespace_name) const {
  const auto found = locks_by_namespace_.find(vni);
  return found != locks_by_namespace_.end() && found->second.contains(namespace_name);
}

std::vector<const LockFacts*> LockLedger::released(Vni vni) const {
  std::vector<const LockFacts*> locks;
  const auto collect = [&](const auto& by_key) {
    for (const auto& [key, facts] : by_key) locks.push_back(facts);
  };
  if (vni != 0) {
    if (const auto found = released_by_vni_.find(vni); found != released_by_vni_.end())
      collect(found->second);
  } else {
    for (const auto& [network, by_key] : released_by_vni_) collect(by_key);
  }
  return locks;
}

std::vector<Vni> LockLedger::networks_with_released() const {
  std::vector<Vni> networks;
  for (const auto& [vni, by_key] : released_by_vni_) networks.push_back(vni);
  return networks;
}

std::vector<const LockFacts*> LockLedger::idle(Vni vni) const {
  std::vector<const LockFacts*> locks;
  if (const auto found = idle_by_vni_.find(vni); found != idle_by_vni_.end())
    for (const std::string& key : found->second) locks.push_back(lock(key));
  return locks;
}

std::vector<const LockFacts*> LockLedger::held_since(Vni vni, store::Revision revision) const {
  std::vector<const LockFacts*> locks;
  const auto found = held_by_vni_.find(vni);
  if (found == held_by_vni_.end()) return locks;
  const auto& held = found->second;
  for (auto at = held.lower_bound({revision + 1, 0}); at != held.end(); ++at)
    locks.push_back(lock(at->second));
  return locks;
}

void LockLedger::note_attachment_change(const std::string& attachment_uid, store::Place at) {
  if (std::exchange(changed_at_, at.revision) != at.revision) changed_.clear();
  changed_[attachment_uid] = at;
}

// A lock that is written again stays released at the moment at which it was.
store::Place LockLedger::released_at(const LockFacts& lock,
                                     const std::optional<LockFacts>& before) const {
  if (before && before->released == lock.released) return before->released_at;
  const auto change = changed_.find(lock.owner);
  const bool seen = change != changed_.end() && change->second.revision == lock.released;
  return seen ? change->second : lock.released_at;
}

std::optional<LockFacts> LockLedger::set_lock(const std::string& key,
                                              std::optional<LockFacts> now) {
  std::optional<LockFacts> before;
  const auto known = lock_by_key_.find(key);
  if (known != lock_by_key_.end()) before = std::move(known->second);
  if (now && now->deleting) now->released_at = released_at(*now, before);
  if (before) forget_version(*before);
  if (before && now && before->owner != now->owner) drop(locks_by_owner_, before->owner, key);
  if (now) {
    if (!before) ++locks_by_namespace_[now->vni][now->namespace_name];
    add(lock_by_key_.insert_or_assign(key, std::move(*now)).first->second);
  } else if (before) {
    remove(*before);
    lock_by_key_.erase(known);
  }
  return before;
}

void LockLedger::add(const LockFacts& lock) {
  const std::string key = lock.key();
  locks_by_owner_[lock.owner].insert(key);
  locks_by_address_[{lock.vni, lock.ip}].insert(key);
  if (lock.deleting) {
    released_by_vni_[lock.vni][key] = &lock;
    return;
  }
  drop(released_by_vni_, lock.vni, key);
  held_by_vni_[lock.vni][lock.place] = key;
  if (lock.idle) idle_by_vni_[lock.vni].insert(key);
}

void LockLedger::remove(const LockFacts& lock) {
  const std::string key = lock.key();
  drop(locks_by_owner_, lock.owner, key);
  drop(locks_by_address_, std::pair(lock.vni, lock.ip), key);
  drop(released_by_vni_, lock.vni, key);
  auto& counts = locks_by_namespace_[lock.vni];
  if (--counts[lock.namespace_name] == 0) counts.erase(lock.namespace_name);
  if (counts.empty()) locks_by_namespace_.erase(lock.vni);
}

// What is kept of one version of a lock.
void LockLedger::forget_version(const LockFacts& lock) {
  drop(held_by_vni_, lock.vni, lock.place);
  drop(idle_by_vni_, lock.vni, lock.key());
}

}  // namespace fairlead::ipam
