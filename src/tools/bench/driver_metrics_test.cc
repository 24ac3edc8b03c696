#include "tools/bench/driver_metrics.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// What a scrape in the middle of a run shows.
TEST(DriverMetrics, Text) {
  DriverMetrics metrics("b1");
  metrics.stage(Part::cruise, "createToReady", 30ms);
  metrics.stage(Part::cruise, "createToReady", 90s);
  metrics.answered(true, 201);
  metrics.answered(false, 0);
  metrics.tested(true, 3);
  metrics.broken();
  metrics.duplicate();
  metrics.set_living(7);
  const std::string text = metrics.text();
  for (const char* line :
       {"fairlead_driver_info{run=\"b1\"} 1",
        "fairlead_driver_seconds_count{part=\"cruise\",stage=\"createToReady\"} 2",
        "fairlead_driver_seconds_bucket{part=\"cruise\",stage=\"createToReady\",le=\"60\"} 1",
        "fairlead_driver_requests_total{operation=\"create\",code=\"201\"} 1",
        "fairlead_driver_requests_total{operation=\"create\",code=\"0\"} 0",
        "fairlead_driver_requests_total{operation=\"delete\",code=\"0\"} 1",
        "fairlead_driver_tests_total{full=\"true\",exit_status=\"3\"} 1",
        "fairlead_driver_broken_total 1", "fairlead_driver_duplicate_addresses_total 1",
        "fairlead_driver_attachments 7", "# TYPE fairlead_driver_seconds histogram"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " is missing in\n" << text;
}

}  // namespace
}  // namespace fairlead::bench
