// What a work queue tells about itself, under the names client-go gives these metrics.
#pragma once

#include <string>

#include "base/metrics.h"

namespace fairlead::client {

// Of one queue; the registry owns them.
struct WorkQueueMetrics {
  metrics::Gauge* depth;
  metrics::Counter* adds;
  metrics::Counter* retries;
  metrics::Histogram* waited;  // seconds from adding to taking
  metrics::Histogram* worked;  // seconds from taking to done
};

// The families, registered once; each queue is one value of the label `name`.
class WorkQueueFamilies {
 public:
  explicit WorkQueueFamilies(metrics::Registry& registry)
      : depth_(registry.gauges("workqueue_depth", "Keys waiting to be worked on.", {"name"})),
        adds_(registry.counters("workqueue_adds_total", "Keys added.", {"name"})),
        retries_(registry.counters("workqueue_retries_total", "Keys that failed.", {"name"})),
        waited_(registry.histograms("workqueue_queue_duration_seconds",
                                    "How long keys waited to be taken.", {"name"},
                                    metrics::latency_bounds())),
        worked_(registry.histograms("workqueue_work_duration_seconds",
                                    "How long keys were worked on.", {"name"},
                                    metrics::latency_bounds())) {}

  WorkQueueMetrics of(const std::string& name) {
    return {.depth = &depth_.with({name}),
            .adds = &adds_.with({name}),
            .retries = &retries_.with({name}),
            .waited = &waited_.with({name}),
            .worked = &worked_.with({name})};
  }

 private:
  metrics::Family<metrics::Gauge>& depth_;
  metrics::Family<metrics::Counter>& adds_;
  metrics::Family<metrics::Counter>& retries_;
  metrics::Family<metrics::Histogram>& waited_;
  metrics::Family<metrics::Histogram>& worked_;
};

}  // namespace fairlead::client
