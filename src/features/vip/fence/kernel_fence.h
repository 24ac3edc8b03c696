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
#include <mutex>
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
#include "features/vip/fence/sightings.h"

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

  // Attaches the programs to one more interface by which clients of VIPs may come. watch() does it
  // for the VIP's interface and lo.
  Result<> guard(const std::string& interface);

  struct Kept {
    std::vector<std::string> restored;    // what somebody had removed
    std::map<std::string, Error> failed;  // interface, or VIP → why it is not guarded
  };
  // Guards these interfaces from now on, besides those of the VIPs, and lets go of those that are
  // no longer there. Puts back what somebody removed: programs, their place before all others
  // (tcx), and VIPs of this process from the map (closed). An interface that is gone is no failure;
  // one that came back is guarded. Of many interfaces without VIPs, 16 that were guarded before are
  // looked at each time.
  //
  // To be called every second or so, and at once when interfaces or traffic control change
  // (rtnetlink). It waits for whoever changes interfaces at the moment, so it belongs on a blocking
  // thread: unlike the others, it may be called while one of them runs.
  Kept keep(const std::vector<std::string>& interfaces);

  // What was seen of a VIP that is watched; nothing of others.
  Sighting sighting(const Ip& vip) const;
  // Sighting::first_packet is that of the first one from now on.
  void await_first_packet(const Ip& vip);

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

  struct Interface {
    std::uint32_t ifindex = 0;
    std::optional<Framing> framing;  // nothing: unknown
  };
  using Interfaces = std::map<std::string, Interface, std::less<>>;

  KernelFence(BpfFileSystem bpf, std::string folder, FencePrograms programs,
              DeadlineTable deadlines, SightingTable sightings, Attachments attachments);
  static Result<Interfaces> list_interfaces();
  static Result<Interface> find_interface(const std::string& name);
  static Result<> replace_older(Attachments& attachments, const FencePrograms& programs);
  Result<std::uint32_t> place(const Ip& vip, std::uint32_t ifindex);
  void read_slots();
  Result<std::uint32_t> take_slot();
  std::uint32_t guarded_index(const std::string& name) const;  // 0: not guarded
  // Says whether there was something to restore.
  Result<bool> guard(const std::string& name, const Interface& interface);
  Result<bool> restore_programs(const Interface& interface);
  void keep_interfaces(const std::vector<std::string>& wanted, const Interfaces& all, Kept& kept);
  void keep_vips(Kept& kept);
  void forget_interface(std::uint32_t ifindex);

  BpfFileSystem bpf_;  // the folder is reached through it
  std::string folder_;
  FencePrograms programs_;
  DeadlineTable deadlines_;
  SightingTable sightings_;
  Attachments attachments_;
  std::mutex attaching_;              // held while the kernel is waited for
  mutable std::mutex mutex_;          // of what follows; never held for long
  std::bitset<FL_FENCE_SLOTS> used_;  // slots
  std::map<Ip, Watched> watched_;
  std::map<std::string, std::uint32_t> guarded_;  // interface → index
  std::size_t turn_ = 0;  // where keep() goes on among the interfaces without VIPs
};

}  // namespace fairlead::vip
