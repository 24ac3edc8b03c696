// Interfaces: what the engine does on this host's network interfaces for a VIP that the node is to
// hold: the address, and its announcement to the neighbours. In the simulation a model stands in
// (sim/models/sim_fence.h); on a real host host/host_interfaces.h.
//
// No call waits: what the kernel is to do is noted and done right after.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

// What became of a VIP that is held.
struct HoldReport {
  std::string interface;
  bool address = false;         // it is there
  std::string error;            // why not
  std::uint64_t put_back = 0;   // how often somebody had removed it
  std::uint64_t announced = 0;  // frames
  std::uint64_t conflicts = 0;  // claims of others
  std::optional<Mac> rival;     // whose claim was seen last
  // When the neighbours were first told, and when the first packet to the VIP arrived after that: a
  // neighbour has moved.
  std::optional<Instant> announced_at, first_packet;
};

class Interfaces {
 public:
  virtual ~Interfaces() = default;

  // The interface is there and up, and the VIP is on-link there. Fails saying what is missing.
  virtual Result<> usable(const Ip& vip, const std::string& interface) = 0;
  // Notified whenever usable() may answer otherwise than before.
  virtual runtime::Signal& changed() = 0;

  // Another host that answered for the VIP when this one asked around (RFC 5227), which it does
  // when the VIP becomes usable, and again when this is called while there is one. It may be a
  // member that holds the VIP. Does not wait for answers.
  virtual std::optional<Mac> rival(const Ip& vip) = 0;
  // The VIP is not an address of this host.
  virtual bool absent(const Ip& vip) = 0;

  // The address is on the interface from now on, never a source address by choice, and put back if
  // something removes it. REQUIRES: the fence watches the VIP.
  virtual void hold(const Ip& vip, const std::string& interface) = 0;
  // The fence is closed right after this call, in order, and let_go() follows: packets to the VIP
  // that still arrive here are sent on to whoever announces it next.
  virtual void leaving(const Ip& vip) = 0;
  virtual void let_go(const Ip& vip) = 0;
  // This host answers for the VIP from now on: the neighbours are told at once, again and again.
  // REQUIRES: the fence is open, and the VIP is held.
  virtual void announce(const Ip& vip) = 0;

  // Until the kernel has done what was asked for, as far as it does it at all, and nothing is sent
  // on any more.
  virtual Task<void> settled() = 0;

  // Of the VIPs that are held.
  virtual std::map<Ip, HoldReport> report() const = 0;
};

}  // namespace fairlead::vip
