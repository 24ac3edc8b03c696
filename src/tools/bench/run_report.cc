#include "tools/bench/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tools/bench/svg_chart.h"
#include "tools/bench/tally.h"

namespace fairlead::bench {
namespace {

constexpr std::size_t kBuckets = 120;  // points of a line over time

constexpr const char* kStyle = R"(
:root { --ink: #1b1f24; --faint: #d7dce1; --band: #f2f5f8; --paper: #fff; --bad: #b3261e; --good: #1a7f37; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --faint: #3a4149; --band: #1d2329; --paper: #14181c; --bad: #ff8a80; --good: #6fdd8b; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 960px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
svg { width: 100%; margin: .6em 0; } svg text { font: 11px system-ui, sans-serif; fill: var(--ink); }
svg .title { font-size: 14px; font-weight: 600; } svg .x-tick { text-anchor: middle; } svg .y-tick { text-anchor: end; }
svg .band { fill: var(--band); } svg .band-name { opacity: .6; } svg .grid { stroke: var(--faint); stroke-width: .6; }
svg .axis { stroke: var(--ink); fill: none; } svg .line { fill: none; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
table { border-collapse: collapse; margin: .6em 0; } td, th { padding: .2em .9em .2em 0; text-align: right; border-bottom: 1px solid var(--faint); }
td:first-child, th:first-child { text-align: left; } .bad { color: var(--bad); } .good { color: var(--good); }
)";

constexpr const char* kColours[] = {"#2f6fde", "#e8842c", "#c2352b", "#2a9d5c",
                                    "#8a4fd0", "#0f9bb0", "#b0822a"};

// A stage as plots over time need it: when it began, how long it took.
struct Timed {
  const char* title;
  Instant Life::* from;
  Instant Life::* to;
};

constexpr Timed kTimed[] = {
    {"Create to address", &Life::due, &Life::addressed},
    {"Create to interface in status", &Life::due, &Life::ready},
    {"Interface to test", &Life::ready, &Life::tested},
    {"Delete", &Life::remove_due, &Life::removed},
};

double end_of(const AttachmentFigures& figures) {
  double end = 1e-3;
  for (const PhaseFigures& phase : figures.phases)
    end = std::max(end, seconds_of(phase.begin + phase.took - figures.start));
  return end;
}

std::vector<Band> bands_of(const AttachmentFigures& figures) {
  std::vector<Band> bands;
  for (const PhaseFigures& phase : figures.phases) {
    const double from = seconds_of(phase.begin - figures.start);
    bands.push_back({phase.name, from, from + seconds_of(phase.took)});
  }
  return bands;
}

std::size_t bucket_at(double seconds, double end) {
  const double share = std::clamp(seconds / end, 0.0, 1.0);
  return std::min(kBuckets - 1, static_cast<std::size_t>(share * kBuckets));
}

double share_of(std::vector<double>& sorted, double share) {
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(at, 1, sorted.size()) - 1];
}

std::string latency_chart(const AttachmentFigures& figures, const Timed& timed) {
  const double end = end_of(figures);
  std::vector<std::vector<double>> buckets(kBuckets);  // milliseconds
  bool any = false;
  for (const Life& life : figures.lives) {
    const Instant from = life.*timed.from;
    const Instant to = life.*timed.to;
    if (from == Instant{} || to == Instant{}) continue;
    buckets[bucket_at(seconds_of(from - figures.start), end)].push_back(1e3 *
                                                                        seconds_of(to - from));
    any = true;
  }
  if (!any) return {};
  Chart chart{.title = timed.title,
              .x_label = "seconds since the start",
              .y_label = "ms",
              .logarithmic = true,
              .bands = bands_of(figures)};
  chart.series = {
      {"half", kColours[0], {}}, {"99 %", kColours[1], {}}, {"longest", kColours[2], {}}};
  for (std::size_t i = 0; i < kBuckets; ++i) {
    std::vector<double>& times = buckets[i];
    if (times.empty()) continue;
    std::ranges::sort(times);
    const double at = (static_cast<double>(i) + 0.5) / kBuckets * end;
    chart.series[0].points.push_back({at, share_of(times, 0.5)});
    chart.series[1].points.push_back({at, share_of(times, 0.99)});
    chart.series[2].points.push_back({at, times.back()});
  }
  return draw(chart);
}

std::string rate_chart(const AttachmentFigures& figures) {
  const double end = end_of(figures);
  const double width = end / kBuckets;
  constexpr std::pair<const char*, Instant Life::*> kCounted[] = {
      {"created", &Life::created}, {"interface ready", &Life::ready}, {"deleted", &Life::removed}};
  Chart chart{.title = "Rate",
              .x_label = "seconds since the start",
              .y_label = "1/s",
              .bands = bands_of(figures)};
  for (const auto& [name, moment] : kCounted) {
    std::vector<double> counts(kBuckets);
    for (const Life& life : figures.lives)
      if (life.*moment != Instant{})
        ++counts[bucket_at(seconds_of(life.*moment - figures.start), end)];
    Series series{name, kColours[chart.series.size()], {}};
    for (std::size_t i = 0; i < kBuckets; ++i)
      series.points.push_back({(static_cast<double>(i) + 0.5) * width, counts[i] / width});
    chart.series.push_back(std::move(series));
  }
  return draw(chart);
}

std::string living_chart(const AttachmentFigures& figures) {
  const double end = end_of(figures);
  std::vector<double> living(kBuckets);
  std::vector<double> ready(kBuckets);
  const auto note = [&](std::vector<double>& changes, Instant moment, double change) {
    if (moment != Instant{}) changes[bucket_at(seconds_of(moment - figures.start), end)] += change;
  };
  for (const Life& life : figures.lives) {
    note(living, life.created, 1);
    note(living, life.removed, -1);
    note(ready, life.ready, 1);
    if (life.ready != Instant{}) note(ready, life.removed, -1);
  }
  Chart chart{.title = "Attachments",
              .x_label = "seconds since the start",
              .y_label = "number",
              .bands = bands_of(figures)};
  chart.series = {{"there", kColours[0], {{0, 0}}}, {"with interface", kColours[3], {{0, 0}}}};
  double there = 0;
  double done = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const double at = static_cast<double>(i + 1) / kBuckets * end;
    chart.series[0].points.push_back({at, there += living[i]});
    chart.series[1].points.push_back({at, done += ready[i]});
  }
  return draw(chart);
}

// The tail has as much room as the rest: x is the number of nines.
std::string percentile_chart(const std::vector<AttachmentFigures::Stage>& stages,
                             const std::string& part) {
  const auto place = [](double share) { return -std::log10(1 - share); };
  Chart chart{.title = "Percentiles, " + part,
              .x_label = "share of the attachments that were not slower",
              .y_label = "ms",
              .logarithmic = true};
  double last = 0;
  for (const AttachmentFigures::Stage& stage : stages) {
    Series series{stage.words, kColours[chart.series.size() % std::size(kColours)], {}};
    for (double nines = 0; nines <= 5.001; nines += 0.05) {
      const double share = 1 - std::pow(10, -nines);
      // Beyond one measurement there is nothing to tell.
      if (nines > 0 && (1 - share) * static_cast<double>(stage.histogram.count()) < 1) break;
      series.points.push_back({nines, 1e3 * seconds_of(stage.histogram.percentile(share))});
      last = std::max(last, nines);
    }
    chart.series.push_back(std::move(series));
  }
  for (const auto& [share, label] :
       {std::pair(0.0, "0"), std::pair(0.5, "50 %"), std::pair(0.9, "90 %"),
        std::pair(0.99, "99 %"), std::pair(0.999, "99.9 %"), std::pair(0.9999, "99.99 %")})
    if (place(share) <= std::max(last, 1.0) + 0.01) chart.x_ticks.push_back({place(share), label});
  return draw(chart);
}

std::string percentile_table(const std::vector<AttachmentFigures::Stage>& stages) {
  std::string text =
      "<table><tr><th>milliseconds</th><th>number</th><th>50 %</th><th>90 %</th><th>99 %</th>"
      "<th>99.9 %</th><th>longest</th></tr>\n";
  for (const AttachmentFigures::Stage& stage : stages) {
    fmt::format_to(std::back_inserter(text), "<tr><td>{}</td><td>{}</td>", stage.words,
                   stage.histogram.count());
    for (const double share : {0.5, 0.9, 0.99, 0.999, 1.0})
      fmt::format_to(std::back_inserter(text), "<td>{:.2f}</td>",
                     1e3 * seconds_of(stage.histogram.percentile(share)));
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string outcome(const AttachmentFigures& figures) {
  std::string text = fmt::format(
      "<p>{} networks; {} attachments created, {} addressed, {} with interface, {} deleted.</p>\n",
      figures.networks, figures.created, figures.addressed, figures.ready, figures.removed);
  const std::vector<std::string> errors = figures.errors();
  if (errors.empty())
    return text + "<p class=\"good\">Everything that was asked for was done and seen.</p>\n";
  text += "<ul class=\"bad\">\n";
  for (const std::string& error : errors) text += "<li>" + escape_markup(error) + "</li>\n";
  return text + "</ul>\n";
}

}  // namespace

std::string report_html(const AttachmentFigures& figures, const std::string& run) {
  const std::string title = "fairlead bench attachments, run " + escape_markup(run);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<title>{}</title>\n"
      "<style>{}</style></head><body>\n<h1>{}</h1>\n",
      title, kStyle, title);
  html += outcome(figures);
  for (const auto& [part, name] : kPartNames) {
    const std::vector<AttachmentFigures::Stage> stages = figures.stages(part);
    if (stages.empty()) continue;
    const std::string words = part == Part::warm_up ? "made in the warm-up" : "made in the cruise";
    html += "<h2>Attachments " + words + "</h2>\n" + percentile_table(stages) +
            percentile_chart(stages, words);
  }
  html += "<h2>Over time</h2>\n" + rate_chart(figures) + living_chart(figures);
  for (const Timed& timed : kTimed) html += latency_chart(figures, timed);
  return html + "</body></html>\n";
}

}  // namespace fairlead::bench
