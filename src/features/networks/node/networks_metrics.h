// The metrics of an agent; docs/metrics.md explains each and gives its name in KOS.
#pragma once

#include <string>
#include <string_view>

#include "api/control/work_queue_metrics.h"
#include "features/networks/node/attachment.h"
#include "features/networks/node/host_status.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/time.h"

namespace fairlead::networks {

class NetworksMetrics {
 public:
  // REQUIRES: one for each registry.
  explicit NetworksMetrics(metrics::Registry& registry);

  // The fabric began to carry `subject` at `now`.
  void carried(const Attachment& subject, WallTime now);
  void status_written(const Attachment& subject, const StatusNews& news, std::string_view outcome,
                      Duration took, WallTime now);
  void fabric_call(std::string_view operation, bool ok, Duration took);
  void hook_ended(std::string_view what, int exit_status, Duration took);

  control::WorkQueueFamilies queues;
  metrics::Gauge& local_attachments;
  metrics::Gauge& remote_attachments;
  metrics::Gauge& relevant_networks;
  metrics::Gauge& pending_changes;
  metrics::Histogram& network_sync;
  metrics::Counter& outcomes_ok;
  metrics::Counter& outcomes_failed;
  metrics::Counter& audit_missing;
  metrics::Counter& audit_unexpected;
  metrics::Counter& node_reports;

 private:
  metrics::Family<metrics::Histogram>& to_local_;
  metrics::Family<metrics::Histogram>& to_remote_;
  metrics::Family<metrics::Histogram>& from_implemented_;
  metrics::Family<metrics::Histogram>& to_status_;
  metrics::Family<metrics::Histogram>& to_hook_report_;
  metrics::Family<metrics::Histogram>& status_latency_;
  metrics::Family<metrics::Histogram>& fabric_latency_;
  metrics::Family<metrics::Histogram>& hook_duration_;
  metrics::Family<metrics::Counter>& hook_count_;
};

}  // namespace fairlead::networks
