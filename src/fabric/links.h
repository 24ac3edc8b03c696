// The pairs of Linux interfaces (veth) that fabrics make for attachments: one end for the guest,
// one that stays on the host. By netlink, in the network namespace of the process.
//
// All calls block (removing waits for the kernel): run them through runtime::blocking().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace fairlead::fabric {

struct VethPair {
  std::string host;   // this end is set up, and closed to the host's own IP stack
  std::string guest;  // this one is down and has no address
  Mac mac;            // of the guest's end
  std::uint32_t mtu = 1500;
  std::string alias;  // of the host's end, to know it again
  // False: the guest's kernel completes checksums and cuts segments itself. A switch in user space
  // takes packets as they are and hands them on so; other guests would drop them.
  bool offload = true;
};

struct Link {
  std::string name;
  std::string alias;
  std::uint32_t mtu = 0;
};

// At most 15 characters, none of which could mean something to a path or to the kernel.
bool is_interface_name(std::string_view name);

// One result for each, in order. A host end without an alias is what a process left that died
// while making it: it is replaced. Fails with already_exists where a name is taken otherwise.
std::vector<Result<>> make_veth_pairs(const std::vector<VethPair>& pairs);

// Both ends of each pair go. All of them at once: the kernel waits once for the whole lot. What is
// not there is no failure.
Result<> remove_links(const std::vector<std::string>& names);

// What is sent through this interface from now on has its checksums, and is cut into segments,
// before it leaves the kernel; see VethPair::offload.
Result<> stop_offload(const std::string& interface);

// The interfaces whose alias begins so.
Result<std::vector<Link>> list_links(std::string_view alias_prefix);

}  // namespace fairlead::fabric
