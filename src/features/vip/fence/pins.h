// Where the fence of this network namespace is pinned: a folder of the host's BPF file system that
// outlives every process, container and mount namespace.
//
//   /sys/fs/bpf/fairlead/vip-<number of the network namespace>/
//     addresses deadlines sightings guarded counters   maps (fence_maps.h)
//     link-<ifindex>-in  link-<ifindex>-out  the programs' attachments, where the kernel has tcx
//
// A BPF file system of a mount namespace of its own (a container, `ip netns exec`) goes with the
// last process in it, and the fence with it, although the address stays: that is refused or passed
// by.
#pragma once

#include <string>

#include "features/vip/fence/descriptor.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

// An open BPF file system. A process that holds it reaches it whatever becomes of mounts around it.
class BpfFileSystem {
 public:
  // In the host's process namespace: that of the host's mount namespace, mounted at /sys/fs/bpf if
  // it is not. In a container: the host's, if it was mounted into it with propagation. `path`, if
  // not empty, is taken as it is, as long as it is a BPF file system: whoever names it vouches that
  // it lasts.
  static Result<BpfFileSystem> find(const std::string& path = "");

  // The folder of this network namespace's fence in it. It need not exist.
  Result<std::string> fence_folder() const;

 private:
  explicit BpfFileSystem(Descriptor root) : root_(std::move(root)) {}
  Descriptor root_;
};

// Creates the folder, with what is above it, for root alone.
Result<> make_folder(const std::string& folder);

// Fails with unsupported when CLOCK_BOOTTIME of this process is not that of the kernel's programs.
Result<> check_time_namespace();

}  // namespace fairlead::vip
