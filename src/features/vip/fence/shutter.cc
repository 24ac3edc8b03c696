#include "features/vip/fence/shutter.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "features/vip/fence/descriptor.h"
#include "features/vip/fence/fence_maps.h"
#include "features/vip/fence/pins.h"
#include "foundation/base/check.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kBytes = FL_FENCE_SLOTS * sizeof(std::uint64_t);

}  // namespace

Result<DeadlineTable> DeadlineTable::map(int map_fd) {
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, map_fd, 0);
  if (memory == MAP_FAILED) return fail(errno_error("map the deadlines into memory"));
  return DeadlineTable(static_cast<std::uint64_t*>(memory));
}

DeadlineTable::DeadlineTable(DeadlineTable&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)) {}

DeadlineTable::~DeadlineTable() {
  if (slots_ != nullptr) ::munmap(slots_, kBytes);
}

void DeadlineTable::set(std::uint32_t slot, std::uint64_t deadline) noexcept {
  CHECK(slot < FL_FENCE_SLOTS);
  std::atomic_ref(slots_[slot]).store(deadline, std::memory_order_release);
}

std::uint64_t DeadlineTable::get(std::uint32_t slot) const noexcept {
  CHECK(slot < FL_FENCE_SLOTS);
  return std::atomic_ref(slots_[slot]).load(std::memory_order_acquire);
}

void DeadlineTable::close_all() noexcept {
  for (std::uint32_t slot = 0; slot < FL_FENCE_SLOTS; ++slot) set(slot, 0);
}

Result<DeadlineTable> open_shutter(const std::string& bpf_file_system) {
  FL_TRY(const BpfFileSystem bpf, BpfFileSystem::find(bpf_file_system));
  FL_TRY(const std::string folder, bpf.fence_folder());
  const Descriptor deadlines(bpf_obj_get((folder + "/deadlines").c_str()));
  if (deadlines) return DeadlineTable::map(deadlines.get());
  if (errno == ENOENT) return fail(Code::not_found, "no fence of virtual IPs at " + folder);
  return fail(errno_error("open " + folder + "/deadlines"));
}

}  // namespace fairlead::vip
