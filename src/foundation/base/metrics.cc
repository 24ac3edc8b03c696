#include "foundation/base/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::metrics {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  CHECK(error == std::errc());
  return std::string(text.data(), end);
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out.append("\\\\");
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '"' && quotes) {
      out.append("\\\"");
    } else {
      out.push_back(c);
    }
  }
}

// `{a="x",b="y"}`, or nothing without labels; `extra` is the bound of a histogram bucket.
void append_labels(std::string& out, const std::vector<std::string>& names,
                   const LabelValues& values, std::string_view extra = {}) {
  if (names.empty() && extra.empty()) return;
  out.push_back('{');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out.push_back(',');
    out.append(names[i]).append("=\"");
    append_escaped(out, values[i], true);
    out.push_back('"');
  }
  if (!extra.empty()) {
    if (!names.empty()) out.push_back(',');
    out.append("le=\"").append(extra).push_back('"');
  }
  out.push_back('}');
}

void append_sample(std::string& out, std::string_view name, const std::vector<std::string>& names,
                   const LabelValues& values, const std::string& value) {
  out.append(name);
  append_labels(out, names, values);
  out.append(" ").append(value).push_back('\n');
}

void append_metric(std::string& out, const std::string& name, const std::vector<std::string>& names,
                   const LabelValues& values, const Counter& counter) {
  append_sample(out, name, names, values, std::to_string(counter.value()));
}

void append_metric(std::string& out, const std::string& name, const std::vector<std::string>& names,
                   const LabelValues& values, const Gauge& gauge) {
  append_sample(out, name, names, values, number(gauge.value()));
}

void append_metric(std::string& out, const std::string& name, const std::vector<std::string>& names,
                   const LabelValues& values, const Histogram& histogram) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
    count += histogram.bucket(i);
    out.append(name).append("_bucket");
    append_labels(out, names, values,
                  i < histogram.bounds().size() ? number(histogram.bounds()[i]) : "+Inf");
    out.append(" ").append(std::to_string(count)).push_back('\n');
  }
  append_sample(out, name + "_sum", names, values, number(histogram.sum()));
  append_sample(out, name + "_count", names, values, std::to_string(count));
}

template <class Metric>
auto write_one(std::shared_ptr<Metric> metric) {
  return [metric = std::move(metric)](std::string& out, const std::string& name) {
    append_metric(out, name, {}, {}, *metric);
  };
}

template <class Metric>
auto write_family(std::shared_ptr<Family<Metric>> family) {
  return [family = std::move(family)](std::string& out, const std::string& name) {
    family->each([&](const LabelValues& values, const Metric& metric) {
      append_metric(out, name, family->label_names(), values, metric);
    });
  };
}

auto write_read(std::function<double()> read) {
  return [read = std::move(read)](std::string& out, const std::string& name) {
    append_sample(out, name, {}, {}, number(read()));
  };
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds_.size() + 1)) {
  CHECK(std::ranges::is_sorted(bounds_));
}

void Histogram::observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<double> latency_bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
}

template <class Metric>
Metric& Family<Metric>::with(LabelValues values) {
  CHECK(values.size() == label_names_.size());
  const std::lock_guard lock(mutex_);
  if (const auto found = children_.find(values); found != children_.end()) return *found->second;
  if (children_.size() >= max_children_) values.assign(label_names_.size(), "other");
  std::unique_ptr<Metric>& child = children_[std::move(values)];
  if (!child) child = make_();
  return *child;
}

template <class Metric>
void Family<Metric>::each(
    const std::function<void(const LabelValues&, const Metric&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [values, metric] : children_) visit(values, *metric);
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

void Registry::enter(std::string name, Entry entry) {
  const std::lock_guard lock(mutex_);
  const bool is_new = entries_.emplace(std::move(name), std::move(entry)).second;
  CHECK(is_new);
}

Counter& Registry::counter(std::string name, std::string help) {
  auto metric = std::make_shared<Counter>();
  Counter& reference = *metric;
  enter(std::move(name), {std::move(help), "counter", write_one(std::move(metric))});
  return reference;
}

Gauge& Registry::gauge(std::string name, std::string help) {
  auto metric = std::make_shared<Gauge>();
  Gauge& reference = *metric;
  enter(std::move(name), {std::move(help), "gauge", write_one(std::move(metric))});
  return reference;
}

Histogram& Registry::histogram(std::string name, std::string help, std::vector<double> bounds) {
  auto metric = std::make_shared<Histogram>(std::move(bounds));
  Histogram& reference = *metric;
  enter(std::move(name), {std::move(help), "histogram", write_one(std::move(metric))});
  return reference;
}

Family<Counter>& Registry::counters(std::string name, std::string help,
                                    std::vector<std::string> labels) {
  auto family = std::make_shared<Family<Counter>>(std::move(labels),
                                                  [] { return std::make_unique<Counter>(); });
  Family<Counter>& reference = *family;
  enter(std::move(name), {std::move(help), "counter", write_family(std::move(family))});
  return reference;
}

Family<Gauge>& Registry::gauges(std::string name, std::string help,
                                std::vector<std::string> labels) {
  auto family =
      std::make_shared<Family<Gauge>>(std::move(labels), [] { return std::make_unique<Gauge>(); });
  Family<Gauge>& reference = *family;
  enter(std::move(name), {std::move(help), "gauge", write_family(std::move(family))});
  return reference;
}

Family<Histogram>& Registry::histograms(std::string name, std::string help,
                                        std::vector<std::string> labels,
                                        std::vector<double> bounds) {
  auto family = std::make_shared<Family<Histogram>>(
      std::move(labels),
      [bounds = std::move(bounds)] { return std::make_unique<Histogram>(bounds); });
  Family<Histogram>& reference = *family;
  enter(std::move(name), {std::move(help), "histogram", write_family(std::move(family))});
  return reference;
}

void Registry::gauge_of(std::string name, std::string help, std::function<double()> read) {
  enter(std::move(name), {std::move(help), "gauge", write_read(std::move(read))});
}

namespace {

auto write_readings(std::vector<std::string> labels, std::function<Registry::Readings()> read) {
  return [labels = std::move(labels), read = std::move(read)](std::string& out,
                                                              const std::string& family) {
    for (const auto& [values, value] : read())
      append_sample(out, family, labels, values, number(value));
  };
}

}  // namespace

void Registry::gauges_of(std::string name, std::string help, std::vector<std::string> labels,
                         std::function<Readings()> read) {
  enter(std::move(name),
        {std::move(help), "gauge", write_readings(std::move(labels), std::move(read))});
}

void Registry::counters_of(std::string name, std::string help, std::vector<std::string> labels,
                           std::function<Readings()> read) {
  enter(std::move(name),
        {std::move(help), "counter", write_readings(std::move(labels), std::move(read))});
}

void Registry::counter_of(std::string name, std::string help, std::function<double()> read) {
  enter(std::move(name), {std::move(help), "counter", write_read(std::move(read))});
}

std::string Registry::expose() const {
  std::string out;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    out.append("# HELP ").append(name).append(" ");
    append_escaped(out, entry.help, false);
    out.append("\n# TYPE ").append(name).append(" ").append(entry.type).append("\n");
    entry.write(out, name);
  }
  return out;
}

}  // namespace fairlead::metrics
