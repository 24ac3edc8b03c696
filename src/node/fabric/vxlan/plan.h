// What has to change so that one station is as desired: pure functions of what is wanted and what
// is there. VxlanHost carries the result out.
//
// A local station is a host end (its half of a veth pair, which leads to the guest's) and entries
// in the maps; a remote one is entries only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node/fabric/fabric.h"
#include "node/fabric/vxlan/entries.h"

namespace fairlead::fabric::vxlan {

// Which program filters what comes out of an interface.
enum class Guard {
  none,
  older,    // one of ours, but of another build or with maps that are not the ones in use
  current,  // ours, with the maps in use
};

// A guest's half of a pair, as long as it is in the host's network namespace.
struct GuestEnd {
  std::uint32_t ifindex = 0;
  std::uint32_t mtu = 0;
};

// A host end that exists, and what its alias says it was made for.
struct End {
  std::uint32_t ifindex = 0;
  Station station;
  bool up = false;
  Guard guard = Guard::none;
  std::uint32_t mtu = 0;
  std::optional<GuestEnd> guest;  // none: out of reach
};

struct EndPlan {
  bool remove = false;    // the end that is there; first
  bool make = false;      // a new one; whatever follows is then done anyway
  bool describe = false;  // its alias
  bool guard = false;
  bool raise = false;
  bool resize = false;  // MTU of the host end
  bool resize_guest = false;
  bool operator==(const EndPlan&) const = default;
  bool nothing() const { return *this == EndPlan{}; }
};

// How much to mend.
enum class Extent {
  station,  // what this station misses
  host,     // also older guards: only when all stations are brought into the maps in use at once,
            // since guards with different maps would see different stations
};

// `wanted` null, or remote: there should be no end. `end` null: there is none. `mtu`: of both ends.
EndPlan plan_end(const Station* wanted, const End* end, std::uint32_t mtu, Extent extent);

// The MTU that an underlay leaves to stations. Fails with invalid where IPv6 would not fit.
Result<std::uint32_t> plan_mtu(std::uint32_t underlay, bool underlay_is_v4);

// What the maps hold, by key and by owner.
class Holdings {
 public:
  Holdings() = default;
  Holdings(Holdings&&) = default;
  Holdings& operator=(Holdings&&) = default;

  void put(Entry entry);
  void drop(const EntryKey& key);
  const std::string* find(const EntryKey& key) const;
  // Until the next change.
  std::span<const EntryKey* const> keys_of(Owner owner) const;
  std::vector<Owner> owners() const;
  std::size_t size() const { return values_.size(); }

 private:
  std::map<EntryKey, std::string> values_;
  std::map<Owner, std::vector<const EntryKey*>> by_owner_;  // keys of values_
};

struct EntryPlan {
  std::vector<Entry> put;  // first: what moves between owners is never missing
  std::vector<EntryKey> drop;
  bool nothing() const { return put.empty() && drop.empty(); }
};

// Brings what `owner` holds to `wanted` (empty: nothing). What another owner took over stays.
EntryPlan plan_entries(const std::vector<Entry>& wanted, Owner owner, const Holdings& holdings);

}  // namespace fairlead::fabric::vxlan
