#include "features/networks/ipam/release_interlock.h"

#include "api/store/transaction.h"
#include "features/networks/ipam/interlock_support.h"

namespace fairlead::ipam {

apiserver::Answer<> ReleaseInterlock::admit(const Proposal& proposal,
                                            store::Transaction& transaction) {
  if (&proposal.kind == &networks_.locks()) return admit_lock(proposal, transaction);
  if (&proposal.kind != &networks_.attachments() || proposal.desired) return {};
  const resource::Kind& locks = networks_.locks();
  for (const std::string& lock_key :
       networks_.ledger().locks_of(wire::find_string(*proposal.live, "metadata.uid"))) {
    const LockFacts& facts = *networks_.ledger().lock(lock_key);
    // Released before, when the attachment lost the address: that was the moment, and who was to be
    // waited for then is all there is.
    if (!facts.awaits.empty()) continue;
    const watchcache::ObjectRef lock = networks_.cache().of(locks).find(lock_key);
    std::string key = watchcache::store_key(locks, lock->namespace_name, lock->name);
    if (store::operates_on(transaction, key)) continue;
    const NodesToAwait nodes = nodes_to_await(networks_, facts.vni, *proposal.live);
    compare_silent(networks_, nodes.silent, transaction);
    transaction.compares.push_back({key, lock->place.revision});
    if (nodes.nobody()) {
      transaction.operations.push_back({store::Operation::Kind::erase, std::move(key), {}});
    } else {
      JsonArena memory(4 * lock->json.size());
      transaction.operations.push_back(
          {store::Operation::Kind::put, std::move(key),
           watchcache::encode_stored(released_lock(lock->decode(&memory), facts, *proposal.live,
                                                   nodes, runtime_.wall_now()))});
    }
  }
  return {};
}

namespace {

// A user asks for it to go; taking the last finalizer away from one that is going is not that.
bool asks_for_deletion(const apiserver::Admission::Proposal& proposal) {
  const auto going = [](const Json& lock) {
    return !wire::find_string(lock, "metadata.deletionTimestamp").empty();
  };
  return proposal.attributes && !going(*proposal.live) &&
         (!proposal.desired || going(*proposal.desired));
}

}  // namespace

// A lock goes with its attachment: until then its address is in use.
apiserver::Answer<> ReleaseInterlock::refuse_if_held(const Proposal& proposal,
                                                     const LockFacts& lock) const {
  const std::string holder = lock.namespace_name + "/" + lock.owner_name;
  const watchcache::ObjectRef attachment =
      networks_.cache().of(networks_.attachments()).find(holder);
  if (!attachment || attachment->uid != lock.owner || attachment->deleting) return {};
  const std::string why = lock.idle ? " is kept for NetworkAttachment " + holder +
                                          ", which lost it with its Subnet and may get it back"
                                    : " is in use by NetworkAttachment " + holder;
  return apimachinery::refuse(
      apimachinery::conflict(apimachinery::group_resource(proposal.kind), proposal.name,
                             lock.ip.to_string() + why + "; delete that to release it"));
}

apiserver::Answer<> ReleaseInterlock::admit_lock(const Proposal& proposal,
                                                 store::Transaction& transaction) const {
  if (!proposal.live) return {};
  const std::string key = std::string(proposal.namespace_name) + "/" + std::string(proposal.name);
  const LockFacts* lock = networks_.ledger().lock(key);
  // The server itself lets go a lock whose attachment stays.
  if (lock && !proposal.attributes && lock->awaits.empty()) {
    const watchcache::ObjectRef owner = networks_.cache()
                                            .of(networks_.attachments())
                                            .find(lock->namespace_name + "/" + lock->owner_name);
    if (owner)
      compare_silent(networks_, nodes_to_await(networks_, lock->vni, owner->decode()).silent,
                     transaction);
  }
  if (lock && asks_for_deletion(proposal))
    if (apiserver::Answer<> free = refuse_if_held(proposal, *lock); !free) return free;
  // When it was released, or lost its address, is when it was last written: a later write would
  // move that moment.
  if (!proposal.attributes || !proposal.desired) return {};
  if (!lock || (lock->awaits.empty() && !lock->idle)) return {};
  return apimachinery::refuse(apimachinery::conflict(
      apimachinery::group_resource(proposal.kind), proposal.name,
      lock->awaits.empty() ? "its attachment lost the address with its Subnet; nobody else writes "
                             "it until that one is back or the attachment is gone"
                           : "the address is being released; take its finalizer away to force it"));
}

}  // namespace fairlead::ipam
