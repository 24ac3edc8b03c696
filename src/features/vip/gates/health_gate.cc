#include "features/vip/gates/health_gate.h"

namespace fairlead::vip {

bool HealthGate::answered(bool good) {
  const State says = good ? State::well : State::sick;
  if (says == state_) {
    against_ = 0;
    return false;
  }
  const bool first = state_ == State::unknown;
  const int needed = good ? rise_ : fall_;
  if (!first && ++against_ < needed) return false;
  against_ = 0;
  state_ = says;
  return true;
}

Duration jittered(Duration interval, std::uint64_t random) {
  const auto tenth = static_cast<std::uint64_t>(interval.count() / 10);
  if (tenth == 0) return interval;
  return interval - Duration(tenth) + Duration(random % (2 * tenth + 1));
}

}  // namespace fairlead::vip
