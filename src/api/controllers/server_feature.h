// ServerFeature: what a capability adds to `fairlead server` (its admissions, controllers and
// metrics) as one object. program/features.h lists the features; the server knows none by name.
//
//   constructed   after the API server's own admissions and before the cache is loaded: the feature
//                 adds its admissions to the ObjectWriter, registers its metrics, and follows the
//                 cache from the first object on
//   run()         when the server listens, until it is cancelled at the server's end
//   destroyed     after run() has ended, before anything in ServerFeatureParts
//
// Admissions hold from construction on, so that nothing is admitted unchecked before run().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/control/work_queue_metrics.h"
#include "api/controllers/server_events.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::controllers {

// What a feature may use of the server. All of it outlives the feature.
struct ServerFeatureParts {
  runtime::Runtime& runtime;
  const resource::Catalog& catalog;
  watchcache::WatchCache& cache;
  apiserver::ObjectWriter& writer;
  ServerEvents& events;
  metrics::Registry& metrics;
  control::WorkQueueFamilies* queues = nullptr;  // null: the queues have no metrics

  std::optional<control::WorkQueueMetrics> queue(const char* name) const {
    if (!queues) return std::nullopt;
    return queues->of(name);
  }
};

class ServerFeature {
 public:
  virtual ~ServerFeature() = default;

  virtual std::string_view name() const = 0;

  // Its controllers, until cancelled.
  virtual Task<void> run() = 0;

  // For a server whose Nodes are a host cluster's: the nodes that the feature keeps something for,
  // and that one of them was deleted there. forget_node() is called again after a failure, and also
  // for nodes that the feature does not know.
  virtual std::vector<std::string> known_nodes() const { return {}; }
  virtual Task<Result<>> forget_node(std::string) { co_return Result<>{}; }
};

}  // namespace fairlead::controllers
