// Metrics: counters, gauges and histograms, exposed in Prometheus' text format.
//
// A metric is registered once and updated through the reference that gives; updates are relaxed
// atomics, cheap enough for every request. A family with labels hands out one child per
// combination; keep the child where you can.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::metrics {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double delta) { value_.fetch_add(delta, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);  // ascending upper bounds, +Inf added
  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  std::uint64_t bucket(std::size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// 0.1 ms … 10 s, for request and store latencies in seconds.
std::vector<double> latency_bounds();

using LabelValues = std::vector<std::string>;

// One metric name with its label names; children by label values, made on first use, living as long
// as the registry. At most `max_children`; beyond, one child with every label "other" takes the
// rest, so that strangers cannot grow it.
template <class Metric>
class Family {
 public:
  using Make = std::function<std::unique_ptr<Metric>()>;
  Family(std::vector<std::string> label_names, Make make, std::size_t max_children = 2'000)
      : label_names_(std::move(label_names)), make_(std::move(make)), max_children_(max_children) {}
  Metric& with(LabelValues values);
  void each(const std::function<void(const LabelValues&, const Metric&)>& visit) const;
  const std::vector<std::string>& label_names() const { return label_names_; }

 private:
  std::vector<std::string> label_names_;
  Make make_;
  std::size_t max_children_;
  mutable std::mutex mutex_;
  std::map<LabelValues, std::unique_ptr<Metric>> children_;
};

class Registry {
 public:
  // Names are unique; registering one twice is a programming error (CHECK).
  Counter& counter(std::string name, std::string help);
  Gauge& gauge(std::string name, std::string help);
  Histogram& histogram(std::string name, std::string help, std::vector<double> bounds);
  Family<Counter>& counters(std::string name, std::string help, std::vector<std::string> labels);
  Family<Gauge>& gauges(std::string name, std::string help, std::vector<std::string> labels);
  Family<Histogram>& histograms(std::string name, std::string help, std::vector<std::string> labels,
                                std::vector<double> bounds);
  // A gauge or counter whose value is asked for at scrape time.
  void gauge_of(std::string name, std::string help, std::function<double()> read);
  void counter_of(std::string name, std::string help, std::function<double()> read);
  // The same for a whole family: the children that there are, with their values.
  using Readings = std::vector<std::pair<LabelValues, double>>;
  void gauges_of(std::string name, std::string help, std::vector<std::string> labels,
                 std::function<Readings()> read);
  void counters_of(std::string name, std::string help, std::vector<std::string> labels,
                   std::function<Readings()> read);

  // Prometheus text exposition, families in order of name.
  std::string expose() const;

 private:
  struct Entry {
    std::string help;
    std::string type;
    std::function<void(std::string& out, const std::string& name)> write;
  };
  void enter(std::string name, Entry entry);
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

// Resident memory, CPU seconds, open files, start time: process_* as Prometheus names them.
void register_process_metrics(Registry& registry);

}  // namespace fairlead::metrics
