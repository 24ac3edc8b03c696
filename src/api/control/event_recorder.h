// EventRecorder: writes Event objects in the background. record() never waits, and an Event that
// cannot be written is dropped. EventCorrelator decides which Events are written.
#pragma once

#include "api/control/event_correlator.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::control {

// Where Events are written.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual Task<Result<>> write(EventWrite event) = 0;
};

struct EventMetrics {
  explicit EventMetrics(metrics::Registry& registry);
  metrics::Counter& written;
  metrics::Counter& failed;
  metrics::Counter& dropped;
};

class EventRecorder {
 public:
  // `sink` null: no Events are written.
  EventRecorder(runtime::Runtime& runtime, EventSink* sink, EventSource source, EventLimits limits,
                EventMetrics& metrics);

  void record(const Happening& happening);

  // Until cancelled.
  Task<void> run();

 private:
  runtime::Runtime& runtime_;
  EventSink* sink_;
  EventCorrelator correlator_;
  runtime::Signal changed_;
  EventMetrics& metrics_;
};

}  // namespace fairlead::control
