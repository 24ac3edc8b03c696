#include "features/networks/ipam/virtual_networks.h"

#include <utility>

#include "foundation/runtime/scope.h"

namespace fairlead::ipam {

VirtualNetworks::VirtualNetworks(const controllers::ServerFeatureParts& parts)
    : runtime_(parts.runtime),
      events_(parts.events.recorder("fairlead-ipam")),
      state_(parts.catalog, parts.cache),
      subnets_(parts.runtime, state_),
      releases_(parts.runtime, state_),
      addresses_(parts.runtime, state_, parts.writer, *events_, parts.metrics, parts.queue("ipam")),
      address_interlock_(parts.runtime, state_, addresses_),
      readiness_(parts.runtime, state_, *events_),
      readiness_keeper_(parts.runtime, state_, parts.writer, parts.queue("readiness")),
      quarantine_(parts.runtime, state_, parts.writer, parts.queue("quarantine")) {
  parts.writer.add_admission(subnets_);
  parts.writer.add_admission(releases_);
  parts.writer.add_admission(address_interlock_);
  parts.writer.add_admission(readiness_);  // last: it looks at what the others decided
  parts.metrics.gauge_of("fairlead_ipam_released_locks",
                         "Addresses that were released and wait for nodes to drop them.", [this] {
                           return static_cast<double>(state_.ledger().released(0).size());
                         });
  parts.metrics.gauge_of("fairlead_ipam_waiting_attachments",
                         "Attachments without an address because their subnet is full.",
                         [this] { return static_cast<double>(addresses_.waiting()); });
  parts.metrics.gauge_of("fairlead_ipam_rejected_subnets",
                         "Subnets that are not valid because of a rival, and wait for it to go.",
                         [this] { return static_cast<double>(state_.index().rejected_subnets()); });
}

Task<void> VirtualNetworks::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(addresses_.run());
  scope.spawn(quarantine_.run());
  scope.spawn(readiness_keeper_.run());
  scope.spawn(events_->run());
  co_await scope.join();
}

Task<Result<>> VirtualNetworks::forget_node(std::string node) {
  return quarantine_.forget_node(std::move(node));
}

}  // namespace fairlead::ipam
