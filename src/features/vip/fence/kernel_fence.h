// KernelFence: the fence of the network namespace it is opened in, kept by programs in the kernel
// (fence.bpf.c) that hold every packet of the guarded interfaces against the deadlines.
//
// Programs, maps and deadlines are pinned (pins.h) and outlive the process; the next process adopts
// them, or replaces programs of another version in one step. Nothing here removes them but forget()
// and dismantle().
//
// Needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN. See fence.h for what is promised.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/fence/attachments.h"
#include "features/vip/fence/fence.h"
#include "features/vip/fence/fence_maps.h"
#include "features/vip/fence/pins.h"
#include "features/vip/fence/programs.h"
#include "features/vip/fence/shutter.h"

namespace fairlead::vip {

using FenceCounters = std::array<std::uint64_t, FL_FENCE_COUNTERS>;
std::string_view counter_name(fl_fence_counter counter);

class KernelFence final : public Fence {
 public:
  struct Options {
    std::string bpf_file_system;         // empty: found, see pins.h
    std::optional<Mechanism> mechanism;  // the better one that the kernel has
  };
  // Fails with unsupported, naming what is missing, where the kernel or the place cannot keep a
  // fence: no lasting BPF file system, a time namespace with an offset, missing rights.
  static Result<std::unique_ptr<KernelFence>> open(const Options& options);
  static Result<std::unique_ptr<KernelFence>> open() { return open(Options{}); }

  // The fence that an engine of this version keeps here, to look at; changes nothing. Fails with
  // not_found if there is none.
  static Result<std::unique_ptr<KernelFence>> look(const Options& options);

  Result<> watch(const Ip& vip, const std::string& interface) override;
  Result<> open_until(const Ip& vip, Instant deadline) override;
  Result<> close(const Ip& vip) override;
  void close_all() override { deadlines_.close_all(); }
  Result<> forget(const Ip& vip) override;
  Result<std::vector<FencedVip>> list() const override;

  // Attaches the programs to one more Ethernet interface by which clients of VIPs may come.
  // watch() does it for the VIP's interface and lo.
  Result<> guard(const std::string& interface);

  // Puts back what somebody removed: programs, their place before all others (tcx), and VIPs of
  // this process from the map (closed). Says what it put back. An interface that is gone is no
  // error; one that came back is guarded. To be called every second or so, and at once when
  // interfaces or traffic control change (rtnetlink).
  Result<std::vector<std::string>> check();

  bool adopted() const { return programs_.adopted(); }
  Mechanism mechanism() const { return attachments_.mechanism(); }
  // For status: how it is attached, and whether others can remove it.
  std::string description() const;
  Result<FenceCounters> counters() const;

  // Removes everything of this network namespace. REQUIRES: no VIP's address is on this host.
  static Result<> dismantle(const Options& options);

 private:
  struct Watched {
    std::uint32_t slot = 0;
    std::string interface;
  };

  KernelFence(BpfFileSystem bpf, std::string folder, FencePrograms programs,
              DeadlineTable deadlines, Attachments attachments);
  Result<std::uint32_t> place(const Ip& vip, std::uint32_t ifindex);
  void read_slots();
  Result<std::uint32_t> take_slot();
  Result<bool> restore_programs(std::uint32_t ifindex);

  BpfFileSystem bpf_;  // the folder is reached through it
  std::string folder_;
  FencePrograms programs_;
  DeadlineTable deadlines_;
  Attachments attachments_;
  std::bitset<FL_FENCE_SLOTS> used_;  // slots
  std::map<Ip, Watched> watched_;
  std::map<std::string, std::uint32_t> guarded_;  // interface → index
};

}  // namespace fairlead::vip
