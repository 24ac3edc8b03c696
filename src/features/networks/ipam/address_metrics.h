// The metrics of address assignment.
#pragma once

#include <string_view>

#include "foundation/base/metrics.h"
#include "foundation/base/time_text.h"

namespace fairlead::ipam {

struct AddressMetrics {
  explicit AddressMetrics(metrics::Registry& registry);

  // An attachment got its addresses. Latency counts from the later of the two client writes
  // (attachment, subnet), because nothing could be assigned before. `contention`: its subnet was
  // full at first.
  void assigned(std::string_view attachment_written, std::string_view subnet_written,
                bool contention, CivilTime now);

  metrics::Counter& assignments;
  metrics::Counter& failures;
  metrics::Counter& exhausted;
  metrics::Histogram& commit_seconds;
  metrics::Family<metrics::Histogram>& address_seconds;
};

}  // namespace fairlead::ipam
