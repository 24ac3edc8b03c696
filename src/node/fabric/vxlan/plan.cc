#include "node/fabric/vxlan/plan.h"

#include <algorithm>

namespace fairlead::fabric::vxlan {

Result<std::uint32_t> plan_mtu(std::uint32_t underlay, bool underlay_is_v4) {
  constexpr std::uint32_t kLeast = 1280;  // of IPv6
  const std::uint32_t headers = underlay_is_v4 ? 50 : 70;
  if (underlay < kLeast + headers)
    return fail(Code::invalid, "an MTU of " + std::to_string(underlay) + " leaves less than " +
                                   std::to_string(kLeast) + " bytes inside the tunnel");
  return underlay - headers;
}

EndPlan plan_end(const Station* wanted, const End* end, std::uint32_t mtu, Extent extent) {
  if (!wanted || !wanted->local()) return {.remove = end != nullptr};
  if (!end) return {.make = true};
  // The guest's half may be anywhere: its name and MAC are out of reach.
  if (end->station.interface != wanted->interface || end->station.mac != wanted->mac)
    return {.remove = true, .make = true};
  EndPlan plan;
  plan.describe = end->station != *wanted;
  plan.guard = end->guard == Guard::none || (extent == Extent::host && end->guard == Guard::older);
  plan.raise = !end->up;
  plan.resize_guest = end->guest && end->guest->mtu != mtu;
  // A guest that took its half away sets its MTU itself. Until it has, it sends packets as large as
  // before: a smaller host end would drop them, also those that stay on this host and those that
  // the underlay would take in pieces.
  plan.resize = end->guest ? end->mtu != mtu : end->mtu < mtu;
  return plan;
}

void Holdings::put(Entry entry) {
  drop(entry.key);
  const Owner owner = owner_of_value(entry.value);
  const auto at = values_.emplace(std::move(entry.key), std::move(entry.value)).first;
  by_owner_[owner].push_back(&at->first);
}

void Holdings::drop(const EntryKey& key) {
  const auto held = values_.find(key);
  if (held == values_.end()) return;
  const auto owner = by_owner_.find(owner_of_value(held->second));
  std::erase(owner->second, &held->first);
  if (owner->second.empty()) by_owner_.erase(owner);
  values_.erase(held);
}

const std::string* Holdings::find(const EntryKey& key) const {
  const auto held = values_.find(key);
  return held == values_.end() ? nullptr : &held->second;
}

std::span<const EntryKey* const> Holdings::keys_of(Owner owner) const {
  const auto keys = by_owner_.find(owner);
  if (keys == by_owner_.end()) return {};
  return keys->second;
}

std::vector<Owner> Holdings::owners() const {
  std::vector<Owner> owners;
  for (const auto& [owner, keys] : by_owner_) owners.push_back(owner);
  return owners;
}

EntryPlan plan_entries(const std::vector<Entry>& wanted, Owner owner, const Holdings& holdings) {
  EntryPlan plan;
  for (const Entry& entry : wanted) {
    const std::string* held = holdings.find(entry.key);
    if (!held || *held != entry.value) plan.put.push_back(entry);
  }
  for (const EntryKey* key : holdings.keys_of(owner))
    if (std::ranges::none_of(wanted, [&](const Entry& entry) { return entry.key == *key; }))
      plan.drop.push_back(*key);
  return plan;
}

}  // namespace fairlead::fabric::vxlan
