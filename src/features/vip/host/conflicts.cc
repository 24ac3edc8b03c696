#include "features/vip/host/conflicts.h"

namespace fairlead::vip {

void Conflicts::begin(const Sighting& seen) {
  seen_ = seen.claims;
  open_ = false;
}

bool Conflicts::defends(Instant now, const Sighting& seen, bool own) {
  if (seen.claims != seen_ && !own) {
    count_ += seen.claims - seen_;
    rival_ = seen.claimant;
    open_ = true;
  }
  seen_ = seen.claims;
  if (!open_ || (defended_ && now < *defended_ + interval_)) return false;
  open_ = false;
  defended_ = now;
  return true;
}

}  // namespace fairlead::vip
