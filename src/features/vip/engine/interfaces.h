// Interfaces: what the engine does on this host's network interfaces for a VIP that the node is to
// hold: the address, and its announcement to the neighbours. In the simulation a model stands in
// (sim/models/sim_fence.h); on a real host host/host_interfaces.h.
//
// No call waits: what the kernel is to do is noted and done right after.
#pragma once

#include <string>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/task.h"

namespace fairlead::vip {

class Interfaces {
 public:
  virtual ~Interfaces() = default;

  // The interface is there and up, and the VIP is on-link there. Fails saying what is missing.
  virtual Result<> usable(const Ip& vip, const std::string& interface) = 0;
  // Notified whenever usable() may answer otherwise than before.
  virtual runtime::Signal& changed() = 0;

  // The address is on the interface from now on, never a source address by choice, and put back if
  // something removes it. REQUIRES: the fence watches the VIP.
  virtual void hold(const Ip& vip, const std::string& interface) = 0;
  virtual void let_go(const Ip& vip) = 0;
  // This host answers for the VIP from now on: the neighbours are told at once, again and again.
  // REQUIRES: the fence is open, and the VIP is held.
  virtual void announce(const Ip& vip) = 0;

  // Until the kernel has done what was asked for, as far as it does it at all.
  virtual Task<void> settled() = 0;
};

}  // namespace fairlead::vip
