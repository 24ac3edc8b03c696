#include "tools/bench/address_ledger.h"

namespace fairlead::bench {

std::optional<std::uint64_t> AddressLedger::take(std::uint64_t attachment, std::size_t network,
                                                 std::string_view address) {
  Place place{network, std::string(address)};
  if (const auto mine = held_.find(attachment); mine != held_.end()) {
    if (mine->second == place) return std::nullopt;
    release(attachment);  // it has another one now
  }
  const auto [holder, first] = holders_.emplace(place, attachment);
  if (!first) return holder->second;
  held_.emplace(attachment, std::move(place));
  return std::nullopt;
}

void AddressLedger::release(std::uint64_t attachment) {
  const auto mine = held_.find(attachment);
  if (mine == held_.end()) return;
  holders_.erase(mine->second);
  held_.erase(mine);
}

}  // namespace fairlead::bench
