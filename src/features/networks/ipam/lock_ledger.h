// LockLedger: which IPLocks there are, who holds them, and which of them are in quarantine. One of
// the three NetworkRecords. Pure.
//
//   held      an attachment uses the address
//   idle      its attachment has lost the address with its Subnet and may get it back; counts as
//             held as well
//   released  its attachment is gone or has another address: the lock is in quarantine until every
//             node that may still send to the address has dropped it
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "features/networks/ipam/network_facts.h"
#include "foundation/base/key_map.h"
#include "foundation/base/string_map.h"

namespace fairlead::ipam {

class LockLedger {
 public:
  // By "namespace/name"; null: there is none.
  const LockFacts* lock(std::string_view key) const;
  const LockFacts* lock_at(Vni vni, const Ip& ip) const;
  const std::set<std::string>& locks_of(std::string_view attachment_uid) const;  // keys
  // The namespaces that have locks in the network, released ones included.
  std::set<std::string> namespaces_holding(Vni vni) const;
  bool holds_addresses(Vni vni, const std::string& namespace_name) const;

  // Locks that were released and wait, of one network or (0) of all.
  std::vector<const LockFacts*> released(Vni vni) const;
  // The networks that have such locks.
  std::vector<Vni> networks_with_released() const;
  std::vector<const LockFacts*> idle(Vni vni) const;
  // Those held whose latest write came after `revision`, in the order of those writes.
  std::vector<const LockFacts*> held_since(Vni vni, store::Revision revision) const;

  // From now on it is as `now` says (nullopt: it is gone). Returns what it was before.
  std::optional<LockFacts> set_lock(const std::string& key, std::optional<LockFacts> now);
  // Told before the locks that the attachment's change released: they were released at `at`.
  void note_attachment_change(const std::string& attachment_uid, store::Place at);

 private:
  store::Place released_at(const LockFacts& lock, const std::optional<LockFacts>& before) const;
  void add(const LockFacts& lock);
  void remove(const LockFacts& lock);
  void forget_version(const LockFacts& lock);

  KeyMap<LockFacts> lock_by_key_;
  StringMap<std::set<std::string>> locks_by_owner_;
  std::map<std::pair<Vni, Ip>, std::set<std::string>> locks_by_address_;
  std::map<Vni, std::map<std::string, std::size_t>> locks_by_namespace_;
  std::map<Vni, std::map<std::string, const LockFacts*>> released_by_vni_;
  std::map<Vni, std::set<std::string>> idle_by_vni_;
  std::map<Vni, std::map<store::Place, std::string>> held_by_vni_;  // not released, by when written
  // Attachments that changed at the newest revision, by uid: the locks they release come after
  // them.
  KeyMap<store::Place> changed_;
  store::Revision changed_at_ = 0;
};

}  // namespace fairlead::ipam
