// Fence: this host's right to answer for virtual IPs, as a deadline for each that something other
// than our processes enforces. The engine moves the deadlines; in the simulation a model stands
// in for the kernel (KernelFence).
//
// An answer is an ARP or neighbour advertisement for the VIP, an IP packet of this host's own with
// the VIP as source (also when NAT on this host made it the source), and delivery on this host of
// a packet to the VIP.
//
// Promises, for a VIP that was watched and not forgotten since
//   1. At or after its deadline (boot time) this host gives no answer through its interface, any
//      other guarded interface, or to itself, whatever became of the processes. Deadline zero is
//      closed; a VIP begins closed.
//   2. What this host forwards for others, from or to the VIP, passes always.
//   3. Packets that name no watched VIP pass always.
//
// Not promised
//   - answers through interfaces that are not guarded: the caller guards every interface by which
//     clients of the VIP may come;
//   - packets that passed before the deadline and wait in a queue of the interface (the margin of
//     docs/design/020 covers them), or that go around the queues (PACKET_QDISC_BYPASS, XDP);
//   - anything while the machine is suspended.
//
// Calls do not wait for disks or peers. One thread at a time, and one process that moves deadlines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

struct FencedVip {
  Ip vip;
  std::string interface;  // empty: it is gone
  Instant deadline{};     // zero: closed
  bool operator==(const FencedVip&) const = default;
};

// What the fence saw of a VIP on the interfaces that it guards.
struct Sighting {
  std::uint64_t claims = 0;               // how often another host said that the VIP is its own
  Mac claimant{};                         // the last of them
  std::optional<Instant> first_packet{};  // to the VIP, since it was last waited for
  bool operator==(const Sighting&) const = default;
};

class Fence {
 public:
  virtual ~Fence() = default;

  // From now on the VIP is fenced. It is closed, unless it was watched before: then its deadline
  // stays. To be called before the address is added to the interface.
  virtual Result<> watch(const Ip& vip, const std::string& interface) = 0;

  // REQUIRES: the VIP is watched. The deadline is absolute: computed from the time before the
  // heartbeat was sent that earned it, never from now.
  virtual Result<> open_until(const Ip& vip, Instant deadline) = 0;
  virtual Result<> close(const Ip& vip) = 0;

  // All that are there, also those that this process did not watch.
  virtual void close_all() = 0;

  // The VIP is no longer fenced, so that this host may answer for it whenever it has the address.
  // To be called after the address was removed. What is not there is fine.
  virtual Result<> forget(const Ip& vip) = 0;

  // All that are there, in the order of addresses: left-overs of earlier processes too.
  virtual Result<std::vector<FencedVip>> list() const = 0;
};

}  // namespace fairlead::vip
