// What a load has measured, and how it is told: as lines for people and as JSON. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foundation/wire/json.h"
#include "tools/bench/histogram.h"
#include "tools/bench/settings.h"

namespace fairlead::bench {

class Tally {
 public:
  void answered(Verb verb, int status, std::size_t sent, std::size_t received, Duration latency);
  void failed(std::string reason);

  // An answer that is not what was asked for, although its status says so.
  void wrong(std::string reason) { failed(std::move(reason)); }

  std::uint64_t requests() const { return latency_.count(); }
  std::uint64_t errors() const;
  const Histogram& latency() const { return latency_; }
  void clear() { *this = Tally(); }
  // What was not as it should be, a line for each kind. Empty: every request was answered well.
  std::vector<std::string> problems() const;
  // Refusals by status ("409") and failures by reason, in the order of their names.
  const std::map<std::string, std::uint64_t>& error_counts() const { return errors_; }

  std::string text(Duration took) const;
  Json json(Duration took) const;

 private:
  Histogram latency_;
  std::map<Verb, Histogram> by_verb_;
  std::map<int, std::uint64_t> answers_;  // by status
  std::map<std::string, std::uint64_t> errors_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

// "p50 1.23 ms  p90 …  p99 …  p99.9 …  max …"
std::string percentiles_text(const Histogram& histogram);
// {"p50": 1.234, …} in milliseconds.
Json percentiles_json(const Histogram& histogram);
// "12,345.6"; "0.123" below ten.
std::string figure(double value);
double seconds_of(Duration duration);

}  // namespace fairlead::bench
