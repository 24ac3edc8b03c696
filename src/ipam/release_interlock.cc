#include "ipam/release_interlock.h"

#include "ipam/interlock_support.h"

namespace fairlead::ipam {

apiserver::Answer<> ReleaseInterlock::admit(const Proposal& proposal,
                                            store::Transaction& transaction) {
  if (&proposal.kind == &index_.locks()) return admit_lock(proposal);
  if (&proposal.kind != &index_.attachments() || proposal.desired) return {};
  const resource::Kind& locks = index_.locks();
  for (const std::string& lock_key :
       index_.locks_of(wire::find_string(*proposal.live, "metadata.uid"))) {
    const watchcache::ObjectRef lock = index_.cache().of(locks).find(lock_key);
    std::string key = watchcache::store_key(locks, lock->namespace_name, lock->name);
    if (operates_on(transaction, key)) continue;
    const LockFacts& facts = *index_.lock(lock_key);
    const std::set<std::string> nodes = nodes_to_await(index_, nodes_, facts.vni, *proposal.live);
    transaction.compares.push_back({key, lock->place.revision});
    if (nodes.empty()) {
      transaction.operations.push_back({store::Operation::Kind::erase, std::move(key), {}});
    } else {
      transaction.operations.push_back(
          {store::Operation::Kind::put, std::move(key),
           watchcache::encode_stored(
               released_lock(lock->decode(), facts, *proposal.live, nodes, runtime_.wall_now()))});
    }
  }
  return {};
}

// When it was released, or lost its address, is when it was last written: a later write would move
// that moment.
apiserver::Answer<> ReleaseInterlock::admit_lock(const Proposal& proposal) const {
  if (!proposal.attributes || !proposal.live || !proposal.desired) return {};
  const std::string key = std::string(proposal.namespace_name) + "/" + std::string(proposal.name);
  const LockFacts* lock = index_.lock(key);
  if (!lock || (lock->awaits.empty() && !lock->idle)) return {};
  return apimachinery::refuse(
      apimachinery::conflict(apimachinery::group_resource(proposal.kind), proposal.name,
                             "the address is being released; take its finalizer away to force it"));
}

}  // namespace fairlead::ipam
