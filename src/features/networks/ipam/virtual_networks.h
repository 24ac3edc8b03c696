// VirtualNetworks: the server's part of virtual networks (index, admissions, controllers) as one
// object. Construct it after the API server's own admissions and before the cache is loaded; then
// run().
//
// Its Events are written to this server's own store or, behind a host cluster, by `host_events`.
#pragma once

#include <optional>

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "features/networks/ipam/address_controller.h"
#include "features/networks/ipam/address_interlock.h"
#include "features/networks/ipam/network_state.h"
#include "features/networks/ipam/quarantine_keeper.h"
#include "features/networks/ipam/readiness_interlock.h"
#include "features/networks/ipam/readiness_keeper.h"
#include "features/networks/ipam/release_interlock.h"
#include "features/networks/ipam/stored_events.h"
#include "features/networks/ipam/subnet_interlock.h"
#include "foundation/base/metrics.h"

namespace fairlead::ipam {

class VirtualNetworks {
 public:
  VirtualNetworks(runtime::Runtime& runtime, const resource::Catalog& catalog,
                  watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                  metrics::Registry& metrics, control::WorkQueueFamilies* queues = nullptr,
                  control::EventSink* host_events = nullptr);

  // Runs the controllers until cancelled. The interlocks work without it.
  Task<void> run();

  const NetworkState& state() const { return state_; }
  // For other components that record Events.
  control::EventRecorder& events() { return events_; }
  QuarantineKeeper& quarantine() { return quarantine_; }

 private:
  runtime::Runtime& runtime_;
  std::optional<StoredEvents> own_events_;
  control::EventMetrics event_metrics_;
  control::EventRecorder events_;
  NetworkState state_;
  SubnetInterlock subnets_;
  ReleaseInterlock releases_;
  AddressController addresses_;
  AddressInterlock address_interlock_;
  ReadinessInterlock readiness_;
  ReadinessKeeper readiness_keeper_;
  QuarantineKeeper quarantine_;
};

}  // namespace fairlead::ipam
