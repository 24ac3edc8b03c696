// Interfaces: what the engine does on this host's network interfaces for a VIP that the node is to
// hold: the address, and its announcement to the neighbours. In the simulation a model stands in.
#pragma once

#include <string>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

class Interfaces {
 public:
  virtual ~Interfaces() = default;

  // The interface is there and up, and the VIP is on-link there. Fails saying what is missing.
  virtual Result<> usable(const Ip& vip, const std::string& interface) = 0;
  // The address is on the interface from now on, never a source address by choice, and put back if
  // something removes it.
  virtual Result<> hold(const Ip& vip, const std::string& interface) = 0;
  virtual Result<> let_go(const Ip& vip, const std::string& interface) = 0;
  // This host answers for the VIP from now on: the neighbours are told at once, again and again.
  // REQUIRES: the fence is open.
  virtual void announce(const Ip& vip, const std::string& interface) = 0;
};

}  // namespace fairlead::vip
