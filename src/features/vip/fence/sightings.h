// What the kernel's programs noted about each VIP (fence_maps.h), in this process' memory: the
// kernel's own array, mapped.
#pragma once

#include <cstdint>

#include "features/vip/fence/fence.h"
#include "features/vip/fence/fence_maps.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

class SightingTable {
 public:
  static Result<SightingTable> map(int map_fd);
  SightingTable(SightingTable&& other) noexcept;
  SightingTable& operator=(SightingTable&&) = delete;
  ~SightingTable();

  Sighting get(std::uint32_t slot) const noexcept;
  // The first packet from now on.
  void await_first_packet(std::uint32_t slot) noexcept;
  void clear(std::uint32_t slot) noexcept;

 private:
  explicit SightingTable(fl_fence_sighting* slots) : slots_(slots) {}
  fl_fence_sighting* slots_;
};

}  // namespace fairlead::vip
