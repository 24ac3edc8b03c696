// The deadlines of all VIPs in this process' memory: the kernel's own array, mapped. And the
// guard's part of the fence: closing everything without loading or attaching anything.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/base/result.h"

namespace fairlead::vip {

class DeadlineTable {
 public:
  static Result<DeadlineTable> map(int map_fd);
  DeadlineTable(DeadlineTable&& other) noexcept;
  DeadlineTable& operator=(DeadlineTable&&) = delete;
  ~DeadlineTable();

  // Nanoseconds of boot time; 0: closed. The kernel sees a store whole, from the next packet on.
  void set(std::uint32_t slot, std::uint64_t deadline) noexcept;
  std::uint64_t get(std::uint32_t slot) const noexcept;
  void close_all() noexcept;  // stores only: no system call, no allocation

 private:
  explicit DeadlineTable(std::uint64_t* slots) : slots_(slots) {}
  std::uint64_t* slots_;
};

// Opens the deadlines that an engine of this network namespace pinned, for close_all(). Fails with
// not_found if there is no fence: then no VIP is open. An engine of another version may pin new
// ones: open it after the engine has ended, or anew after each start of an engine.
Result<DeadlineTable> open_shutter(const std::string& bpf_file_system = "");

}  // namespace fairlead::vip
