#include "tools/bench/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::bench {
namespace {

constexpr std::pair<std::string_view, double> kShares[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}};

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string figure(double value) {
  if (value < 10) return fmt::format("{:.3f}", value);
  if (value < 1'000) return fmt::format("{:.1f}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string percentiles_text(const Histogram& histogram) {
  std::string text;
  for (const auto& [name, share] : kShares) {
    if (!text.empty()) text += "  ";
    fmt::format_to(std::back_inserter(text), "{} {:.2f} ms", name,
                   milliseconds(histogram.percentile(share)));
  }
  return text;
}

Json percentiles_json(const Histogram& histogram) {
  JsonObject json;
  for (const auto& [name, share] : kShares) json[name] = milliseconds(histogram.percentile(share));
  json["mean"] = milliseconds(histogram.mean());
  return json;
}

void Tally::answered(Verb verb, int status, std::size_t sent, std::size_t received,
                     Duration latency) {
  latency_.add(latency);
  by_verb_[verb].add(latency);
  sent_ += sent;
  received_ += received;
  ++answers_[status];
  if (status < 200 || status >= 300) ++errors_[std::to_string(status)];
}

void Tally::failed(std::string reason) { ++errors_[std::move(reason)]; }

std::uint64_t Tally::errors() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : errors_) sum += count;
  return sum;
}

std::vector<std::string> Tally::problems() const {
  std::vector<std::string> problems;
  if (requests() == 0) problems.emplace_back("no request was answered");
  for (const auto& [reason, count] : errors_)
    problems.push_back(fmt::format("{} of {} requests: {}", count, requests(), reason));
  return problems;
}

std::string Tally::text(Duration took) const {
  const double seconds = std::max(seconds_of(took), 1e-9);
  std::string text = fmt::format(
      "  {} requests/s   sent {} MB/s   received {} MB/s\n  latency  {}\n",
      figure(static_cast<double>(requests()) / seconds),
      figure(static_cast<double>(sent_) / 1e6 / seconds),
      figure(static_cast<double>(received_) / 1e6 / seconds), percentiles_text(latency_));
  if (by_verb_.size() > 1) {
    for (const auto& [verb, histogram] : by_verb_)
      fmt::format_to(std::back_inserter(text), "  {:<8} {} ({})\n", verb_name(verb),
                     percentiles_text(histogram), histogram.count());
  }
  for (const auto& [reason, count] : errors_)
    fmt::format_to(std::back_inserter(text), "  error    {}: {}\n", reason, count);
  return text;
}

Json Tally::json(Duration took) const {
  const double seconds = std::max(seconds_of(took), 1e-9);
  JsonObject errors;
  for (const auto& [reason, count] : errors_) errors[reason] = count;
  JsonObject answers;
  for (const auto& [status, count] : answers_) answers[std::to_string(status)] = count;
  JsonObject verbs;
  for (const auto& [verb, histogram] : by_verb_)
    verbs[verb_name(verb)] = JsonObject{{"requests", histogram.count()},
                                        {"latencyMilliseconds", percentiles_json(histogram)}};
  return JsonObject{{"requests", requests()},
                    {"seconds", seconds},
                    {"requestsPerSecond", static_cast<double>(requests()) / seconds},
                    {"sentBytes", sent_},
                    {"receivedBytes", received_},
                    {"receivedMegabytesPerSecond", static_cast<double>(received_) / 1e6 / seconds},
                    {"latencyMilliseconds", percentiles_json(latency_)},
                    {"verbs", std::move(verbs)},
                    {"answers", std::move(answers)},
                    {"errors", std::move(errors)}};
}

}  // namespace fairlead::bench
