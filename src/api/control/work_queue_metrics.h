// The metrics of work queues, under client-go's names.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "foundation/base/metrics.h"

namespace fairlead::control {

// Keys that are taken and not yet done. Only here does a worker that hangs become visible.
struct WorkInHand {
  double seconds = 0;  // since they were taken, summed over all keys
  double longest = 0;
};

// The metrics of one queue, owned by the registry and the families.
struct WorkQueueMetrics {
  metrics::Gauge* depth;
  metrics::Counter* adds;
  metrics::Counter* retries;
  metrics::Histogram* waited;            // seconds from adding to taking
  metrics::Histogram* worked;            // seconds from taking to done
  std::function<WorkInHand()>* in_hand;  // set by the queue while it lives
};

// The families, registered once; each queue is one value of the label `name`. Lives as long as
// anybody reads the registry.
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
                                    metrics::latency_bounds())) {
    registry.gauges_of("workqueue_unfinished_work_seconds",
                       "How long the keys in work have been worked on, together.", {"name"},
                       [this] { return read(&WorkInHand::seconds); });
    registry.gauges_of("workqueue_longest_running_processor_seconds",
                       "How long the oldest key in work has been worked on.", {"name"},
                       [this] { return read(&WorkInHand::longest); });
  }
  WorkQueueFamilies(const WorkQueueFamilies&) = delete;
  WorkQueueFamilies& operator=(const WorkQueueFamilies&) = delete;

  WorkQueueMetrics of(const std::string& name) {
    return {.depth = &depth_.with({name}),
            .adds = &adds_.with({name}),
            .retries = &retries_.with({name}),
            .waited = &waited_.with({name}),
            .worked = &worked_.with({name}),
            .in_hand = &in_hand_[name]};
  }

 private:
  metrics::Registry::Readings read(double WorkInHand::* member) const {
    metrics::Registry::Readings readings;
    for (const auto& [name, ask] : in_hand_) readings.push_back({{name}, ask ? ask().*member : 0});
    return readings;
  }

  metrics::Family<metrics::Gauge>& depth_;
  metrics::Family<metrics::Counter>& adds_;
  metrics::Family<metrics::Counter>& retries_;
  metrics::Family<metrics::Histogram>& waited_;
  metrics::Family<metrics::Histogram>& worked_;
  std::map<std::string, std::function<WorkInHand()>> in_hand_;
};

}  // namespace fairlead::control
