#include "features/networks/ipam/virtual_networks.h"

#include "foundation/runtime/scope.h"

namespace fairlead::ipam {
namespace {

std::optional<StoredEvents> stored_events(runtime::Runtime& runtime,
                                          const resource::Catalog& catalog,
                                          apiserver::ObjectWriter& writer) {
  const resource::Kind* kind = catalog.find("", "v1", "events");
  return kind ? std::optional<StoredEvents>(std::in_place, runtime, *kind, writer) : std::nullopt;
}

std::optional<control::WorkQueueMetrics> of(control::WorkQueueFamilies* queues, const char* name) {
  if (!queues) return std::nullopt;
  return queues->of(name);
}

}  // namespace

VirtualNetworks::VirtualNetworks(runtime::Runtime& runtime, const resource::Catalog& catalog,
                                 watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                                 metrics::Registry& metrics, control::WorkQueueFamilies* queues,
                                 control::EventSink* host_events)
    : runtime_(runtime),
      own_events_(stored_events(runtime, catalog, writer)),
      event_metrics_(metrics),
      events_(runtime, own_events_ ? &*own_events_ : host_events, {.component = "fairlead-ipam"},
              control::EventLimits{}, event_metrics_),
      state_(catalog, cache),
      subnets_(runtime, state_),
      releases_(runtime, state_),
      addresses_(runtime, state_, writer, events_, metrics, of(queues, "ipam")),
      address_interlock_(runtime, state_, addresses_),
      readiness_(runtime, state_, events_),
      readiness_keeper_(runtime, state_, writer, of(queues, "readiness")),
      quarantine_(runtime, state_, writer, of(queues, "quarantine")) {
  writer.add_admission(subnets_);
  writer.add_admission(releases_);
  writer.add_admission(address_interlock_);
  writer.add_admission(readiness_);  // last: it looks at what the others decided
  metrics.gauge_of("fairlead_ipam_released_locks",
                   "Addresses that were released and wait for nodes to drop them.",
                   [this] { return static_cast<double>(state_.ledger().released(0).size()); });
  metrics.gauge_of("fairlead_ipam_waiting_attachments",
                   "Attachments without an address because their subnet is full.",
                   [this] { return static_cast<double>(addresses_.waiting()); });
  metrics.gauge_of("fairlead_ipam_rejected_subnets",
                   "Subnets that are not valid because of a rival, and wait for it to go.",
                   [this] { return static_cast<double>(state_.index().rejected_subnets()); });
}

Task<void> VirtualNetworks::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(addresses_.run());
  scope.spawn(quarantine_.run());
  scope.spawn(readiness_keeper_.run());
  scope.spawn(events_.run());
  co_await scope.join();
}

}  // namespace fairlead::ipam
