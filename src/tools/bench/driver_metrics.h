// The figures of a load of attachments while it runs, as metrics: what `--metrics-listen` serves
// and what `--prometheus` leaves behind in the end.
#pragma once

#include <string>

#include "foundation/base/metrics.h"
#include "foundation/runtime/time.h"
#include "tools/bench/agent_board.h"

namespace fairlead::bench {

class DriverMetrics {
 public:
  explicit DriverMetrics(const std::string& run);

  // A stage took that long: "createToReady", one of AttachmentFigures'.
  void stage(Part part, const char* stage, Duration took);
  // An answer to a create or a delete: its status, or nothing at all (0).
  void answered(bool create, int status);
  // A test has ended; `full`: there was somebody to ping.
  void tested(bool full, int exit_status);
  void broken() { broken_.add(); }
  void duplicate() { duplicates_.add(); }
  void set_living(double attachments) { living_.set(attachments); }
  void set_waiting(double attachments) { waiting_.set(attachments); }

  std::string text() const { return registry_.expose(); }

 private:
  metrics::Registry registry_;
  metrics::Family<metrics::Histogram>& seconds_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Counter>& tests_;
  metrics::Counter& broken_;
  metrics::Counter& duplicates_;
  metrics::Gauge& living_;
  metrics::Gauge& waiting_;
};

}  // namespace fairlead::bench
