// What address assignment needs to know of one attachment and of one IPLock (SubnetFacts is in
// subnet_rules.h), and how it is read from the objects in the watch cache. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/kind.h"
#include "api/store/store.h"
#include "api/watchcache/watch_cache.h"
#include "features/networks/ipam/subnet_rules.h"
#include "foundation/base/ip.h"
#include "foundation/wire/json.h"

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

// The place of a selectable field among the fields that the cache has at hand.
// REQUIRES: the kind has it.
std::size_t place_of_field(const resource::Kind& kind, std::string_view path);

SubnetFacts subnet_facts(const resource::Kind& kind, const watchcache::Object& subnet);
AttachmentFacts attachment_facts(const resource::Kind& kind, const watchcache::Object& attachment);
// Nullopt: its name is not that of an address.
std::optional<LockFacts> lock_facts(const watchcache::Object& lock);
// The MAC address in the status of an attachment.
std::optional<Mac> mac_in(const watchcache::Object& attachment);

}  // namespace fairlead::ipam
