// The pairs of Linux interfaces (veth) that the ovs fabric makes for attachments: one end for the
// guest, one that stays on the host as a port of the bridge. In the network namespace of the
// process.
//
// All calls block (removing waits for the kernel): run them through runtime::blocking().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "node/fabric/links.h"

namespace fairlead::fabric::ovs {

struct VethPair {
  std::string host;   // this end is set up, and closed to the host's own IP stack
  std::string guest;  // this one is down and has no address
  Mac mac;            // of the guest's end
  std::uint32_t mtu = 1500;
  std::string alias;  // of the host's end, to know it again
  // A switch in user space takes packets as they are and hands them on so; other guests would drop
  // what is unfinished: so the guest's kernel completes checksums and cuts segments itself. And it
  // makes the host's end promiscuous, if that is not so already; the kernel would tell everybody,
  // itself included, and it would go through all of its ports once more.
  bool switch_in_user_space = false;
};

// One result for each, in order. A host end that says nothing of itself is what a process left that
// died while making it: it is replaced. Fails with already_exists where a name is taken otherwise.
std::vector<Result<>> make_veth_pairs(const std::vector<VethPair>& pairs);

// Both ends of each pair go. What is not there is no failure.
Result<> remove_links(const std::vector<std::string>& names);

// Of ends that are here. What is not there is no failure.
Result<> set_mtu(const std::vector<std::string>& names, std::uint32_t mtu);

struct GuestLink {
  std::string name;
  std::uint32_t mtu = 0;
};
struct GuestLinks {
  std::vector<GuestLink> named;        // whose alias begins so
  std::vector<std::string> half_made;  // by the ovs fabric; see is_half_made()
};
Result<GuestLinks> find_guest_links(std::string_view alias_prefix);

// What fits into a packet to other hosts from this address: see underlay_mtu().
Result<std::uint32_t> underlay_mtu(const Ip& address);

}  // namespace fairlead::fabric::ovs
