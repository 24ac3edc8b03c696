#include "features/vip/fence/sightings.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kBytes = FL_FENCE_SLOTS * sizeof(fl_fence_sighting);

}  // namespace

Result<SightingTable> SightingTable::map(int map_fd) {
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
  if (memory == MAP_FAILED) return fail(errno_error("map the sightings into memory"));
  return SightingTable(static_cast<fl_fence_sighting*>(memory));
}

SightingTable::SightingTable(SightingTable&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)) {}

SightingTable::~SightingTable() {
  if (slots_ != nullptr) ::munmap(slots_, kBytes);
}

Sighting SightingTable::get(std::uint32_t slot) const noexcept {
  CHECK(slot < FL_FENCE_SLOTS);
  fl_fence_sighting& seen = slots_[slot];
  Sighting sighting{.claims = std::atomic_ref(seen.claims).load(std::memory_order_acquire)};
  std::array<std::uint8_t, 6> mac;
  std::memcpy(mac.data(), seen.claimant, mac.size());
  sighting.claimant = Mac(mac);
  const auto at =
      static_cast<std::int64_t>(std::atomic_ref(seen.first_packet).load(std::memory_order_acquire));
  if (at != 0) sighting.first_packet = Instant(Duration(at));
  return sighting;
}

void SightingTable::await_first_packet(std::uint32_t slot) noexcept {
  CHECK(slot < FL_FENCE_SLOTS);
  std::atomic_ref(slots_[slot].first_packet).store(0, std::memory_order_release);
}

void SightingTable::clear(std::uint32_t slot) noexcept {
  CHECK(slot < FL_FENCE_SLOTS);
  std::memset(&slots_[slot], 0, sizeof(fl_fence_sighting));
}

}  // namespace fairlead::vip
