#include "features/networks/node/networks_metrics.h"

namespace fairlead::networks {
namespace {

std::vector<double> write_bounds() {
  return {-0.125, 0, 0.005, 0.01, 0.025, 0.05, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256};
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string last_write(const Attachment& subject) {
  return subject.subnet_came_last ? "subnet" : "na";
}

}  // namespace

NetworksMetrics::NetworksMetrics(metrics::Registry& registry)
    : queues(registry),
      local_attachments(registry.gauge("fairlead_agent_local_attachments",
                                       "Attachments of this node that the fabric carries.")),
      remote_attachments(registry.gauge("fairlead_agent_remote_attachments",
                                        "Attachments of other nodes that the fabric carries.")),
      relevant_networks(registry.gauge("fairlead_agent_relevant_networks",
                                       "Virtual networks that this node's attachments are in.")),
      pending_changes(registry.gauge("fairlead_agent_pending_changes",
                                     "Attachments whose change the fabric has yet to carry out.")),
      network_sync(registry.histogram(
          "fairlead_agent_network_sync_seconds",
          "From a network becoming relevant to knowing its attachments.", write_bounds())),
      outcomes_ok(registry.counter("fairlead_agent_fabric_changes_total",
                                   "Attachments that the fabric was brought up to date on.")),
      outcomes_failed(registry.counter("fairlead_agent_fabric_failures_total",
                                       "Attachments for which the fabric failed.")),
      audit_missing(registry.counter("fairlead_agent_audit_missing_total",
                                     "What audits found missing in the fabric, and mended.")),
      audit_unexpected(registry.counter("fairlead_agent_audit_unexpected_total",
                                        "What audits found too much in the fabric, and removed.")),
      node_reports(registry.counter("fairlead_agent_node_reports_total",
                                    "Reports of applied versions written to the NodeReport.")),
      to_local_(registry.histograms("fairlead_agent_last_client_write_to_local_ifc_latency_seconds",
                                    "From the last write of a client to the interface here.",
                                    {"last_client_wr"}, write_bounds())),
      to_remote_(
          registry.histograms("fairlead_agent_last_client_write_to_remote_ifc_latency_seconds",
                              "From the last write of a client to its being reachable from here.",
                              {"last_client_wr"}, write_bounds())),
      from_implemented_(
          registry.histograms("fairlead_agent_attachment_impl_to_remote_ifc_latency_seconds",
                              "From the interface on its node to its being reachable from here.",
                              {"last_client_wr"}, write_bounds())),
      to_status_(registry.histograms(
          "fairlead_agent_last_client_write_to_status_update_latency_seconds",
          "From the last write of a client to the status that tells the interface.",
          {"last_client_wr"}, write_bounds())),
      to_hook_report_(
          registry.histograms("fairlead_agent_last_client_write_to_hook_report_latency_seconds",
                              "From the last write of a client to the status that tells how "
                              "postCreateExec ended.",
                              {"last_client_wr"}, write_bounds())),
      status_latency_(registry.histograms("fairlead_agent_attachment_status_latency_seconds",
                                          "How long writing a status took.", {"statusErr", "err"},
                                          write_bounds())),
      fabric_latency_(registry.histograms("fairlead_agent_fabric_latency_seconds",
                                          "How long calls of the fabric took.", {"op", "err"},
                                          metrics::latency_bounds())),
      hook_duration_(registry.histograms("fairlead_agent_attachment_exec_duration_seconds",
                                         "How long hooks ran.", {"what", "exitStatus"},
                                         write_bounds())),
      hook_count_(registry.counters("fairlead_agent_attachment_exec_status_count",
                                    "Hooks that ended.", {"what", "exitStatus"})) {}

void NetworksMetrics::carried(const Attachment& subject, WallTime now) {
  const std::string last = last_write(subject);
  if (subject.asked) {
    metrics::Family<metrics::Histogram>& latency = subject.local ? to_local_ : to_remote_;
    latency.with({last}).observe(seconds(now - *subject.asked));
  }
  if (!subject.local && subject.implemented)
    from_implemented_.with({last}).observe(seconds(now - *subject.implemented));
}

void NetworksMetrics::status_written(const Attachment& subject, const StatusNews& news,
                                     std::string_view outcome, Duration took, WallTime now) {
  status_latency_.with({news.errors ? "err" : "ok", std::string(outcome)}).observe(seconds(took));
  if (outcome != "ok" || !subject.asked) return;
  const double since_asked = seconds(now - *subject.asked);
  if (news.interface && !news.errors) to_status_.with({last_write(subject)}).observe(since_asked);
  if (news.hook) to_hook_report_.with({last_write(subject)}).observe(since_asked);
}

void NetworksMetrics::fabric_call(std::string_view operation, bool ok, Duration took) {
  fabric_latency_.with({std::string(operation), ok ? "ok" : "err"}).observe(seconds(took));
}

void NetworksMetrics::hook_ended(std::string_view what, int exit_status, Duration took) {
  const metrics::LabelValues labels{std::string(what), std::to_string(exit_status)};
  hook_duration_.with(labels).observe(seconds(took));
  hook_count_.with(labels).add();
}

}  // namespace fairlead::networks
