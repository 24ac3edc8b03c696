#include "foundation/base/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::metrics {
namespace {

// The whole exposition of one of each kind, in order of name.
TEST(Metrics, ExposesInPrometheusText) {
  Registry registry;
  registry.gauge("b_gauge", "A gauge.").set(2.5);
  registry.counter("a_total", "A counter\nwith \\ in it.").add(3);
  Histogram& histogram = registry.histogram("c_seconds", "A histogram.", {0.1, 1});
  histogram.observe(0.1);
  histogram.observe(0.5);
  histogram.observe(7);
  registry.gauge_of("d", "Read at scrape.", [] { return INFINITY; });
  EXPECT_EQ(registry.expose(),
            "# HELP a_total A counter\\nwith \\\\ in it.\n"
            "# TYPE a_total counter\n"
            "a_total 3\n"
            "# HELP b_gauge A gauge.\n"
            "# TYPE b_gauge gauge\n"
            "b_gauge 2.5\n"
            "# HELP c_seconds A histogram.\n"
            "# TYPE c_seconds histogram\n"
            "c_seconds_bucket{le=\"0.1\"} 1\n"
            "c_seconds_bucket{le=\"1\"} 2\n"
            "c_seconds_bucket{le=\"+Inf\"} 3\n"
            "c_seconds_sum 7.6\n"
            "c_seconds_count 3\n"
            "# HELP d Read at scrape.\n"
            "# TYPE d gauge\n"
            "d +Inf\n");
}

// Children are told apart by their label values, which are escaped.
TEST(Metrics, Families) {
  Registry registry;
  Family<Counter>& family = registry.counters("r_total", "R.", {"verb", "path"});
  family.with({"get", "/"}).add();
  family.with({"get", "/"}).add();
  family.with({"get", "a\"b\\c\nd"}).add();
  registry.histograms("h", "H.", {"v"}, {1}).with({"x"}).observe(1);
  EXPECT_EQ(registry.expose(),
            "# HELP h H.\n# TYPE h histogram\n"
            "h_bucket{v=\"x\",le=\"1\"} 1\nh_bucket{v=\"x\",le=\"+Inf\"} 1\n"
            "h_sum{v=\"x\"} 1\nh_count{v=\"x\"} 1\n"
            "# HELP r_total R.\n# TYPE r_total counter\n"
            "r_total{verb=\"get\",path=\"/\"} 2\n"
            "r_total{verb=\"get\",path=\"a\\\"b\\\\c\\nd\"} 1\n");
}

// A family that is asked at scrape time shows the children that there are then.
TEST(Metrics, FamilyReadAtScrape) {
  Registry registry;
  Registry::Readings now;
  registry.gauges_of("g", "G.", {"name"}, [&now] { return now; });
  EXPECT_EQ(registry.expose(), "# HELP g G.\n# TYPE g gauge\n");
  now = {{{"a"}, 1}, {{"b"}, 0.5}};
  EXPECT_EQ(registry.expose(), "# HELP g G.\n# TYPE g gauge\ng{name=\"a\"} 1\ng{name=\"b\"} 0.5\n");
}

// Beyond its bound a family counts strangers together.
TEST(Metrics, FamilyIsBounded) {
  Family<Counter> family({"name"}, [] { return std::make_unique<Counter>(); }, 2);
  Counter& first = family.with({"a"});
  family.with({"b"});
  family.with({"c"}).add();
  family.with({"d"}).add();
  EXPECT_EQ(&family.with({"a"}), &first);
  EXPECT_EQ(family.with({"other"}).value(), 2U);
  std::size_t children = 0;
  family.each([&](const LabelValues&, const Counter&) { ++children; });
  EXPECT_EQ(children, 3U);
}

// Registering a name twice is a mistake in the program.
TEST(MetricsDeathTest, NamesAreUnique) {
  Registry registry;
  registry.counter("x", "");
  EXPECT_DEATH(registry.gauge("x", ""), "broken invariant");
}

// The process figures are there and plausible for a running process.
TEST(Metrics, ProcessFigures) {
  Registry registry;
  register_process_metrics(registry);
  const std::string text = registry.expose();
  const auto value = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GT(value("process_max_fds"), 3);
  EXPECT_GT(value("process_start_time_seconds"), 1.5e9);
  EXPECT_GE(value("process_threads"), 1);
}

}  // namespace
}  // namespace fairlead::metrics
