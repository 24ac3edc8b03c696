#include "features/networks/ipam/address_pool.h"

namespace fairlead::ipam {

const AddressSet& AddressPool::taken(Vni vni, bool v4) const {
  static const AddressSet kNone;
  const auto found = taken_.find({vni, v4});
  return found == taken_.end() ? kNone : found->second;
}

bool AddressPool::is_free(Vni vni, const Ip& ip) const {
  return !taken(vni, ip.is_v4()).contains(number_of(ip));
}

std::optional<Ip> AddressPool::pick(Vni vni, const Cidr& block, const RandomBits& random) const {
  const bool v4 = block.base().is_v4();
  const auto number = taken(vni, v4).pick(usable_range(block), random);
  return number ? std::optional(ip_of(*number, v4)) : std::nullopt;
}

bool AddressPool::has_free(Vni vni, const Cidr& block) const {
  return pick(vni, block, [] { return 0; }).has_value();
}

void AddressPool::take(Vni vni, const Ip& ip) { taken_[{vni, ip.is_v4()}].take(number_of(ip)); }

void AddressPool::release(Vni vni, const Ip& ip) {
  const auto set = taken_.find({vni, ip.is_v4()});
  if (set == taken_.end()) return;
  set->second.release(number_of(ip));
  if (set->second.empty()) taken_.erase(set);
}

bool AddressPool::mac_is_free(Vni vni, const Mac& mac) const { return !macs_.contains({vni, mac}); }

void AddressPool::take_mac(const std::string& attachment_key, Vni vni, const Mac& mac) {
  mac_of_.insert_or_assign(attachment_key, std::pair(vni, mac));
  ++macs_[{vni, mac}];
}

void AddressPool::release_mac(const std::string& attachment_key) {
  const auto known = mac_of_.find(attachment_key);
  if (known == mac_of_.end()) return;
  const auto entry = macs_.find(known->second);
  if (--entry->second == 0) macs_.erase(entry);
  mac_of_.erase(known);
}

}  // namespace fairlead::ipam
