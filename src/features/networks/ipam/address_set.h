// AddressSet: the taken addresses of one virtual network and one family, as disjoint runs in order.
// A full block is one run and an IPv6 block costs no more than what is taken of it; every operation
// is O(log runs).
//
// Invariant: runs do not touch one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "features/networks/ipam/address_number.h"
#include "foundation/base/ids.h"

namespace fairlead::ipam {

class AddressSet {
 public:
  // False if it was taken (or free) already.
  bool take(AddressNumber address);
  bool release(AddressNumber address);

  bool contains(AddressNumber address) const;
  bool empty() const { return runs_.empty(); }
  std::size_t runs() const { return runs_.size(); }

  // A free address of the range: the first one at or after a random place, going round at the end.
  // Where it lands is random, so that two controllers rarely want the same one and an address that
  // was just freed is rarely the next one given out. Nullopt: none is free.
  std::optional<AddressNumber> pick(const AddressRange& range, const RandomBits& random) const;

 private:
  std::optional<AddressNumber> first_free(AddressNumber from, AddressNumber last) const;

  std::map<AddressNumber, AddressNumber> runs_;  // first → last
};

}  // namespace fairlead::ipam
