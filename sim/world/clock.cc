#include "sim/world/clock.h"

#include "foundation/base/check.h"

namespace fairlead::sim {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kMillion = 1'000'000;

}  // namespace

DriftingClock::DriftingClock(Moment anchor, Instant reading, std::int64_t rate_ppm)
    : anchor_(anchor), reading_(reading), rate_ppm_(rate_ppm) {
  CHECK(rate_ppm >= -kMillion / 2 && rate_ppm <= kMillion / 2);
}

Instant DriftingClock::now(Moment world) const {
  const Wide passed = (world - anchor_).count();
  return reading_ + Duration(static_cast<std::int64_t>(passed * (kMillion + rate_ppm_) / kMillion));
}

Moment DriftingClock::when(Instant reading) const {
  if (reading <= reading_) return anchor_;
  const Wide wanted = (reading - reading_).count();
  const Wide rate = kMillion + rate_ppm_;
  const Wide passed = (wanted * kMillion + rate - 1) / rate;
  if (passed > (Moment::max() - anchor_).count()) return Moment::max();  // "for ever" stays that
  return anchor_ + Duration(static_cast<std::int64_t>(passed));
}

void DriftingClock::set_rate(Moment world, std::int64_t rate_ppm) {
  *this = DriftingClock(world, now(world), rate_ppm);
}

}  // namespace fairlead::sim
