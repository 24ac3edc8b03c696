#include "features/networks/ipam/address_set.h"

#include <iterator>

namespace fairlead::ipam {
namespace {

// The run that holds `address`, or end().
template <class Runs>
auto run_of(Runs& runs, AddressNumber address) {
  auto after = runs.upper_bound(address);
  if (after == runs.begin()) return runs.end();
  const auto run = std::prev(after);
  return run->second >= address ? run : runs.end();
}

}  // namespace

bool AddressSet::contains(AddressNumber address) const {
  return run_of(runs_, address) != runs_.end();
}

bool AddressSet::take(AddressNumber address) {
  if (contains(address)) return false;
  const auto after = runs_.upper_bound(address);
  const bool joins_after = after != runs_.end() && after->first == address + 1;
  const bool joins_before =
      after != runs_.begin() && std::prev(after)->second + 1 == address && address != 0;
  AddressNumber last = address;
  if (joins_after) {
    last = after->second;
    runs_.erase(after);
  }
  if (joins_before) {
    std::prev(runs_.upper_bound(address))->second = last;
  } else {
    runs_.emplace(address, last);
  }
  return true;
}

bool AddressSet::release(AddressNumber address) {
  const auto run = run_of(runs_, address);
  if (run == runs_.end()) return false;
  const auto [first, last] = *run;
  if (first == address) {
    runs_.erase(run);
  } else {
    run->second = address - 1;
  }
  if (last != address) runs_.emplace(address + 1, last);
  return true;
}

std::optional<AddressNumber> AddressSet::first_free(AddressNumber from, AddressNumber last) const {
  const auto run = run_of(runs_, from);
  if (run == runs_.end()) return from;
  if (run->second >= last) return std::nullopt;
  return run->second + 1;  // runs do not touch: it is free
}

std::optional<AddressNumber> AddressSet::pick(const AddressRange& range,
                                              const RandomBits& random) const {
  const AddressNumber bits = static_cast<AddressNumber>(random()) << 64 | random();
  const AddressNumber count = range.last - range.first + 1;  // 0: all 2^128
  const AddressNumber start = range.first + (count == 0 ? bits : bits % count);
  if (const auto found = first_free(start, range.last)) return found;
  if (start == range.first) return std::nullopt;
  return first_free(range.first, start - 1);
}

}  // namespace fairlead::ipam
