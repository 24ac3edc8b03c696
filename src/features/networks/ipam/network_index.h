// NetworkIndex: the subnets, attachments and locks of every virtual network, arranged as address
// assignment asks for them. Follows the watch cache event by event, so that it always shows what
// the cache shows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "features/networks/ipam/address_set.h"
#include "features/networks/ipam/subnet_rules.h"
#include "foundation/base/ip.h"
#include "foundation/base/key_map.h"
#include "foundation/base/string_map.h"

namespace fairlead::ipam {

// On an IPLock that outlives its attachment: the nodes that have not yet said that they dropped the
// address, separated by commas.
inline constexpr std::string_view kAwaitsAnnotation = "fairlead.dev/awaits";
// On the same: the node of that attachment, and when it was released if the lock was written since.
inline constexpr std::string_view kNodeAnnotation = "fairlead.dev/node";
inline constexpr std::string_view kReleasedAnnotation = "fairlead.dev/released";
// On the same: the revision that the list of nodes was decided on. Who came into the network
// between it and the release is waited for as well.
inline constexpr std::string_view kDecidedAnnotation = "fairlead.dev/decided-at";
// A label of a lock whose attachment has lost its address (the Subnet went) and may get it back:
// since when. Written in the transaction that took the address away, and by nobody afterwards, so
// that the lock's place is that moment.
inline constexpr std::string_view kIdleLabel = "fairlead.dev/idle-since";
// A label of a lock whose attachment had lost its address and has it back: it was written since it
// was made, so its place does not tell when that was.
inline constexpr std::string_view kRegainedLabel = "fairlead.dev/regained";
// Keeps a lock until its quarantine is over, whoever deletes it.
inline constexpr std::string_view kQuarantineFinalizer = "fairlead.dev/quarantine";

// When a section of the object was last written (extendedMetadata); empty: never, or not known.
std::string write_time(const Json& object, std::string_view section);

struct AttachmentFacts {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string node;
  std::string subnet;
  std::string fixed_ipv4;
  std::string fixed_ipv6;
  std::string ipv4;  // as assigned; empty: not yet
  std::string ipv6;
  Vni vni = 0;  // of the addresses; 0: none yet

  std::string key() const { return namespace_name + "/" + name; }
  std::string subnet_key() const { return namespace_name + "/" + subnet; }
  bool operator==(const AttachmentFacts&) const = default;
};

struct LockFacts {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string owner;  // uid of the attachment
  std::string owner_name;
  Vni vni = 0;
  Ip ip;
  store::Place place;     // of the latest write
  bool deleting = false;  // released, or somebody asked for it
  bool idle = false;      // see kIdleLabel
  bool regained = false;  // see kRegainedLabel
  // Of a released one; see the annotations above.
  std::vector<std::string> awaits;
  std::string node;
  store::Revision released = 0;
  // The change of the attachment at which it was: a revision has many, and a node may have heard of
  // some of them. The revision's beginning if the change was not seen.
  store::Place released_at{};
  store::Revision decided = 0;

  std::string key() const { return namespace_name + "/" + name; }
};

class NetworkIndex {
 public:
  // Follows `cache` from now on; both live equally long.
  NetworkIndex(const resource::Catalog& catalog, watchcache::WatchCache& cache);

  const resource::Kind& subnets() const { return *subnets_; }
  const resource::Kind& attachments() const { return *attachments_; }
  const resource::Kind& locks() const { return *locks_; }
  const resource::Kind& reports() const { return *reports_; }
  // The place of silentSince among the fields of a NodeReport.
  std::size_t silent_since_field() const { return silent_since_field_; }
  watchcache::WatchCache& cache() const { return cache_; }

  // By "namespace/name"; null: there is none.
  const SubnetFacts* subnet(std::string_view key) const;
  const AttachmentFacts* attachment(std::string_view key) const;
  const LockFacts* lock(std::string_view key) const;

  std::vector<SubnetFacts> subnets_of(Vni vni) const;
  std::size_t rejected_subnets() const;  // those that are not validated
  const std::set<std::string>& attachments_of_subnet(std::string_view subnet_key) const;
  const std::set<std::string>& locks_of(std::string_view attachment_uid) const;
  const LockFacts* lock_at(Vni vni, const Ip& ip) const;
  // The namespaces that have locks in the network, released ones included.
  std::set<std::string> namespaces_holding(Vni vni) const;
  bool holds_addresses(Vni vni, const std::string& namespace_name) const;
  // Nodes that carry the network, or may still: those with attachments that have an address in it,
  // and those whose attachments lost theirs (last_loss).
  std::set<std::string> carriers(Vni vni) const;
  // Those of them that were perhaps none yet at revision `after`, but were before `before`.
  std::set<std::string> came_between(Vni vni, store::Revision after, store::Revision before) const;
  // When an attachment of `node` last lost an address in the network that was not given out since;
  // 0: never.
  store::Place last_loss(const std::string& node, Vni vni) const;
  bool has_attachments(const std::string& node, Vni vni) const;
  // Locks that were released and wait, of one network or (0) of all.
  std::vector<const LockFacts*> released(Vni vni) const;
  // The networks that have such locks.
  std::vector<Vni> networks_with_released() const;

  // What is taken: locked, or reserved by take() until the lock is seen.
  AddressSet& taken(Vni vni, bool v4) { return taken_[{vni, v4}]; }
  bool mac_taken(Vni vni, const Mac& mac) const;

  // Called after a change was taken in: what changed, before and after (null: was or is not there).
  struct Listener {
    std::function<void(const AttachmentFacts* before, const AttachmentFacts* after)> attachment;
    std::function<void(const SubnetFacts* before, const SubnetFacts* after)> subnet;
    std::function<void(const LockFacts* before, const LockFacts* after)> lock;
    std::function<void()> reset;
  };
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  SubnetFacts subnet_facts(const watchcache::Object& object) const;
  AttachmentFacts attachment_facts(const watchcache::Object& object) const;
  std::optional<LockFacts> lock_facts(const watchcache::Object& object) const;
  void take_in_subnet(const std::string& key, const watchcache::ObjectRef& after);
  void take_in_attachment(const std::string& key, const watchcache::ObjectRef& after);
  void note_change(const std::string& attachment_uid, store::Place at);
  void take_in_lock(const std::string& key, const watchcache::ObjectRef& after);
  void note_attachment(const AttachmentFacts& facts, int by);
  void note_mac(const watchcache::Object& object, Vni vni);
  void forget_mac(const std::string& attachment_key);
  void note_lock(const LockFacts& facts, bool present);
  void forget_version(const LockFacts& lock);
  // Of a lock that is not released; empty if its attachment is not there.
  std::string node_of(const LockFacts& lock) const;
  void rebuild();

  const resource::Kind* subnets_;
  const resource::Kind* attachments_;
  const resource::Kind* locks_;
  const resource::Kind* reports_;
  std::size_t silent_since_field_;
  watchcache::WatchCache& cache_;
  std::vector<Listener> listeners_;

  KeyMap<SubnetFacts> subnet_by_key_;
  KeyMap<AttachmentFacts> attachment_by_key_;
  KeyMap<LockFacts> lock_by_key_;
  std::map<Vni, std::set<std::string>> subnets_by_vni_;
  KeyMap<std::set<std::string>> attachments_by_subnet_;
  StringMap<std::set<std::string>> locks_by_owner_;
  std::map<std::pair<Vni, Ip>, std::set<std::string>> locks_by_address_;
  std::map<Vni, std::map<std::string, const LockFacts*>> released_by_vni_;
  std::map<Vni, std::set<std::string>> idle_by_vni_;
  std::map<Vni, std::map<store::Place, std::string>> held_by_vni_;  // not released, by when written
  std::map<Vni, std::map<std::string, std::size_t>> nodes_by_vni_;
  std::map<Vni, std::map<std::string, std::size_t>> locks_by_namespace_;
  std::map<std::pair<Vni, bool>, AddressSet> taken_;
  std::map<std::pair<Vni, Mac>, std::size_t> macs_;  // of attachments without an IPv4 address
  KeyMap<std::pair<Vni, Mac>> mac_of_;               // the same, by attachment
  // Attachments that changed at the newest revision, by uid: the locks they release come after
  // them.
  KeyMap<store::Place> changed_;
  store::Revision changed_at_ = 0;
};

}  // namespace fairlead::ipam
