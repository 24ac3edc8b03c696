// Times for an election from what was measured (`fairlead vip tune`). Pure.
//
//   A lease must outlast the longest interruption, and as many heartbeats in a row as may be lost:
//
//     lease >= 2 × longest interruption + longest round trip + k × renew
//
//   An interruption is a late timer of this machine, or a round trip that took longer than usual.
//   It is doubled, because some seconds show less than a year. k heartbeats in a row are lost about
//   once in a thousand million, at least 3.
#pragma once

#include <string>
#include <vector>

#include "features/vip/election/soundings.h"
#include "features/vip/election/timing.h"

namespace fairlead::vip {

struct Measured {
  Sounding sounding;
  Duration longest_write{};  // of a small file to the state folder, synced
  Timing in_force;
};

struct Proposal {
  Timing timing;
  bool in_force_is_long_enough = false;
  std::vector<std::string> reasons;  // sentences
};

// Fails with unavailable, naming the peer, if too little was heard to say anything.
Result<Proposal> propose_timing(const Measured& measured);

}  // namespace fairlead::vip
