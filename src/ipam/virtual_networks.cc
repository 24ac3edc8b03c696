#include "ipam/virtual_networks.h"

#include "runtime/scope.h"

namespace fairlead::ipam {

VirtualNetworks::VirtualNetworks(runtime::Runtime& runtime, const resource::Catalog& catalog,
                                 watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                                 metrics::Registry& metrics)
    : runtime_(runtime),
      index_(catalog, cache),
      subnets_(runtime, index_),
      releases_(runtime, catalog, index_),
      addresses_(runtime, catalog, index_, writer, metrics),
      quarantine_(runtime, catalog, index_, writer) {
  writer.add_admission(subnets_);
  writer.add_admission(releases_);
  metrics.gauge_of("fairlead_ipam_released_locks",
                   "Addresses that were released and wait for nodes to drop them.",
                   [this] { return static_cast<double>(index_.released(0).size()); });
  metrics.gauge_of("fairlead_ipam_queue_depth", "Attachments that wait for a decision.",
                   [this] { return static_cast<double>(addresses_.queue().depth()); });
}

Task<void> VirtualNetworks::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(addresses_.run());
  scope.spawn(quarantine_.run());
  co_await scope.join();
}

}  // namespace fairlead::ipam
