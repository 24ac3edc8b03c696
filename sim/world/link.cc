#include "sim/world/link.h"

#include <algorithm>

namespace fairlead::sim {

Duration Delay::draw(Random& random) const {
  Duration delay = random.between(least, least + spread);
  if (random.chance(spike_per_million)) delay += random.between(Duration(0), spike);
  return delay;
}

Moment Link::arrival(Moment now, std::size_t bytes) {
  Moment departure = now;
  if (settings_.bytes_per_second != 0) {
    const Duration sending(bytes * 1'000'000'000 / settings_.bytes_per_second);
    departure = std::max(now, busy_until_) + sending;
    busy_until_ = departure;
  }
  return departure + settings_.latency.draw(random_);
}

}  // namespace fairlead::sim
