// AddressLedger: which attachment has which address, from a watch; finds an address that two
// attachments have at the same time. Exact, because a watch shows changes in order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::bench {

class AddressLedger {
 public:
  // The attachment shows this address. Returns who else has it; that one keeps it here.
  std::optional<std::uint64_t> take(std::uint64_t attachment, std::size_t network,
                                    std::string_view address);
  // The attachment is gone, and its address free.
  void release(std::uint64_t attachment);

 private:
  using Place = std::pair<std::size_t, std::string>;  // network, address
  std::map<Place, std::uint64_t> holders_;
  std::map<std::uint64_t, Place> held_;
};

}  // namespace fairlead::bench
