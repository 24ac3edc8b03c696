// The metrics of virtual IPs; docs/metrics.md explains each.
#pragma once

#include <functional>

#include "features/vip/control/messages.h"
#include "foundation/base/metrics.h"

namespace fairlead::vip {

class VipMetrics {
 public:
  // `report` is asked whenever metrics are read. REQUIRES: one for each registry.
  VipMetrics(metrics::Registry& registry, std::function<const Report&()> report);

  void passed(const Passage& passage);

  metrics::Counter& engine_starts;
  metrics::Counter& guard_starts;

 private:
  metrics::Family<metrics::Counter>& passages_;
  metrics::Family<metrics::Histogram>& phases_;
};

}  // namespace fairlead::vip
