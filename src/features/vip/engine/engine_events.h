// What an engine tells of: VIPs that this node took, gave up, or lost. For history, notify commands
// and metrics. Called from the engine's loop, after the fact; must not wait.
#pragma once

#include <string>

#include "features/vip/election/claim.h"

namespace fairlead::vip {

// How a VIP came to be held, on this node's clock.
struct TakeOver {
  Claim claim;
  std::string interface;
  Instant assigned{};   // the assigner's word arrived
  Instant granted{};    // a majority has granted it
  Instant announced{};  // the fence is open, and the neighbours have been told
};

class EngineEvents {
 public:
  virtual ~EngineEvents() = default;
  virtual void held(const TakeOver& take_over) = 0;
  // The fence was closed by this engine.
  virtual void given_up(const Claim& claim) = 0;
  // The deadline passed without a renewal: the fence closed by itself.
  virtual void expired(const Claim& claim) = 0;
};

}  // namespace fairlead::vip
