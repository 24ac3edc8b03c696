// AddressPool: which addresses and MACs of every virtual network are free. An address is taken as
// long as it is locked, or reserved for an assignment that is being written. One of the three
// NetworkRecords. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "features/networks/ipam/address_set.h"
#include "features/networks/ipam/subnet_rules.h"
#include "foundation/base/ids.h"
#include "foundation/base/ip.h"
#include "foundation/base/key_map.h"

namespace fairlead::ipam {

class AddressPool {
 public:
  bool is_free(Vni vni, const Ip& ip) const;
  // A free address of the block, at random (AddressSet::pick); nullopt: the block is full.
  std::optional<Ip> pick(Vni vni, const Cidr& block, const RandomBits& random) const;
  bool has_free(Vni vni, const Cidr& block) const;

  void take(Vni vni, const Ip& ip);
  void release(Vni vni, const Ip& ip);

  // MACs of attachments without an IPv4 address; those of others are implied by it (mac.h).
  bool mac_is_free(Vni vni, const Mac& mac) const;
  void take_mac(const std::string& attachment_key, Vni vni, const Mac& mac);
  void release_mac(const std::string& attachment_key);

 private:
  const AddressSet& taken(Vni vni, bool v4) const;

  std::map<std::pair<Vni, bool>, AddressSet> taken_;  // by network and whether IPv4
  std::map<std::pair<Vni, Mac>, std::size_t> macs_;
  KeyMap<std::pair<Vni, Mac>> mac_of_;  // the same, by attachment
};

}  // namespace fairlead::ipam
