// What the address controller tells of itself in /metrics.
#pragma once

#include <string_view>

#include "foundation/base/metrics.h"
#include "foundation/base/time_text.h"

namespace fairlead::ipam {

struct AddressMetrics {
  explicit AddressMetrics(metrics::Registry& registry);

  // An attachment got its addresses. Latency counts from the later of the two writes by a client
  // (attachment or subnet): before that nobody could have assigned anything.
  // `contention`: it had found its subnet full before.
  void assigned(std::string_view attachment_written, std::string_view subnet_written,
                bool contention, CivilTime now);

  metrics::Counter& assignments;
  metrics::Counter& failures;
  metrics::Counter& exhausted;
  metrics::Histogram& commit_seconds;
  metrics::Family<metrics::Histogram>& address_seconds;
};

}  // namespace fairlead::ipam
