// NetworkRecords: all that address assignment decides on, as one value in three parts.
//
//   index    which subnets, attachments and networks there are
//   ledger   which IPLocks there are, who holds them, which are in quarantine
//   pool     which addresses are free
//
// Invariant: an address that is locked is not free. Pure; NetworkState feeds it from the watch
// cache.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "features/networks/ipam/address_pool.h"
#include "features/networks/ipam/lock_ledger.h"
#include "features/networks/ipam/network_index.h"

namespace fairlead::ipam {

class NetworkRecords {
 public:
  const NetworkIndex& index() const { return index_; }
  const LockLedger& ledger() const { return ledger_; }
  const AddressPool& pool() const { return pool_; }

  // Nodes that carry the network, or may still: those with attachments that have an address in it,
  // and those whose attachments lost theirs (last_loss).
  std::set<std::string> carriers(Vni vni) const;
  // Those of them that were perhaps none yet at revision `after`, but were before `before`.
  std::set<std::string> came_between(Vni vni, store::Revision after, store::Revision before) const;
  // When an attachment of `node` last lost an address in the network that was not given out since;
  // 0: never.
  store::Place last_loss(const std::string& node, Vni vni) const;

  // From now on it is as `now` says (nullopt: it is gone). Returns what it was before.
  std::optional<SubnetFacts> set_subnet(const std::string& key, std::optional<SubnetFacts> now);
  // `mac`: of an attachment that has addresses, but no IPv4 address.
  std::optional<AttachmentFacts> set_attachment(const std::string& key,
                                                std::optional<AttachmentFacts> now,
                                                std::optional<Mac> mac = {});
  std::optional<LockFacts> set_lock(const std::string& key, std::optional<LockFacts> now);
  void note_attachment_change(const std::string& attachment_uid, store::Place at);

  // The address is taken until its lock is seen, or it is given back because none was written.
  void reserve(Vni vni, const Ip& ip) { pool_.take(vni, ip); }
  void give_back(Vni vni, const Ip& ip);

 private:
  NetworkIndex index_;
  LockLedger ledger_;
  AddressPool pool_;
};

}  // namespace fairlead::ipam
