#include "features/networks/ipam/address_metrics.h"

#include <chrono>

namespace fairlead::ipam {

AddressMetrics::AddressMetrics(metrics::Registry& registry)
    : assignments(registry.counter("fairlead_ipam_assignments_total",
                                   "Attachments that were given their addresses.")),
      failures(registry.counter("fairlead_ipam_failures_total",
                                "Attempts to assign that failed and are tried again.")),
      exhausted(registry.counter("fairlead_ipam_exhausted_total",
                                 "Times an attachment found its subnet full.")),
      commit_seconds(registry.histogram("fairlead_ipam_commit_seconds",
                                        "Duration of the transactions that assign addresses.",
                                        metrics::latency_bounds())),
      address_seconds(registry.histograms(
          "fairlead_ipam_last_client_write_to_address_latency_seconds",
          "From the last write by a client that an assignment needed until it was made.",
          {"last_client_wr", "contention"}, metrics::latency_bounds())) {}

void AddressMetrics::assigned(std::string_view attachment_written, std::string_view subnet_written,
                              bool contention, CivilTime now) {
  assignments.add();
  const auto attachment = parse_rfc3339(attachment_written);
  const auto subnet = parse_rfc3339(subnet_written);
  if (!attachment || !subnet) return;
  const bool subnet_last = *subnet > *attachment;
  const std::chrono::duration<double> latency = now - (subnet_last ? *subnet : *attachment);
  address_seconds.with({subnet_last ? "subnet" : "na", contention ? "true" : "false"})
      .observe(latency.count());
}

}  // namespace fairlead::ipam
