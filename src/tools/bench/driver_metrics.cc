#include "tools/bench/driver_metrics.h"

#include "tools/bench/tally.h"

namespace fairlead::bench {
namespace {

// To a minute and more: what waits for an address or a slow node waits for seconds.
std::vector<double> stage_bounds() {
  std::vector<double> bounds = metrics::latency_bounds();
  for (const double seconds : {20.0, 30.0, 60.0, 120.0, 300.0})
    if (seconds > bounds.back()) bounds.push_back(seconds);
  return bounds;
}

}  // namespace

DriverMetrics::DriverMetrics(const std::string& run)
    : seconds_(registry_.histograms("fairlead_driver_seconds", "How long each stage took.",
                                    {"part", "stage"}, stage_bounds())),
      requests_(registry_.counters("fairlead_driver_requests_total",
                                   "Creates and deletes of attachments by what was answered; code "
                                   "0: nothing was.",
                                   {"operation", "code"})),
      tests_(registry_.counters("fairlead_driver_tests_total",
                                "Tests by exit status; full: another attachment was pinged.",
                                {"full", "exit_status"})),
      broken_(registry_.counter("fairlead_driver_broken_total",
                                "Attachments that had errors on their host.")),
      duplicates_(registry_.counter("fairlead_driver_duplicate_addresses_total",
                                    "Addresses that two attachments of a network had at once.")),
      living_(registry_.gauge("fairlead_driver_attachments", "Attachments that there are now.")),
      waiting_(registry_.gauge("fairlead_driver_attachments_waiting",
                               "Those of them that have no interface yet.")) {
  registry_.gauges("fairlead_driver_info", "1, with the name of the run.", {"run"})
      .with({run})
      .set(1);
  metrics::register_process_metrics(registry_);
  // Known from the start, so that their absence is not taken for zero failures.
  for (const char* operation : {"create", "delete"}) (void)requests_.with({operation, "0"});
}

void DriverMetrics::stage(Part part, const char* stage, Duration took) {
  seconds_.with({part == Part::warm_up ? "warmUp" : "cruise", stage}).observe(seconds_of(took));
}

void DriverMetrics::answered(bool create, int status) {
  requests_.with({create ? "create" : "delete", std::to_string(status)}).add();
}

void DriverMetrics::tested(bool full, int exit_status) {
  tests_.with({full ? "true" : "false", std::to_string(exit_status)}).add();
}

}  // namespace fairlead::bench
