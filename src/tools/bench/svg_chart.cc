#include "tools/bench/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace fairlead::bench {
namespace {

constexpr double kWidth = 920, kHeight = 300;
constexpr double kLeft = 64, kRight = 16, kTop = 52, kBottom = 44;

std::string number(double value) { return fmt::format("{:g}", value); }

// Where values lie on the paper.
struct Scale {
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  bool logarithmic = false;

  double x(double value) const {
    return kLeft + (value - x_low) / (x_high - x_low) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    const double share = logarithmic ? (std::log10(value) - std::log10(y_low)) /
                                           (std::log10(y_high) - std::log10(y_low))
                                     : (value - y_low) / (y_high - y_low);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }
};

bool shown(const Chart& chart, const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!chart.logarithmic || point.y > 0);
}

// Decades around the values, so that every tick is a power of ten.
void round_outwards(Scale& scale) {
  scale.y_low = std::pow(10, std::floor(std::log10(scale.y_low)));
  scale.y_high = std::pow(10, std::ceil(std::log10(scale.y_high)));
  if (scale.y_high <= scale.y_low) scale.y_high = scale.y_low * 10;
}

Scale scale_of(const Chart& chart) {
  constexpr double kMost = std::numeric_limits<double>::max();
  Scale scale{.x_low = kMost, .x_high = -kMost, .y_low = kMost, .y_high = -kMost};
  scale.logarithmic = chart.logarithmic;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) {
      if (!shown(chart, point)) continue;
      scale.x_low = std::min(scale.x_low, point.x);
      scale.x_high = std::max(scale.x_high, point.x);
      scale.y_low = std::min(scale.y_low, point.y);
      scale.y_high = std::max(scale.y_high, point.y);
    }
  for (const Band& band : chart.bands) {
    scale.x_low = std::min(scale.x_low, band.from);
    scale.x_high = std::max(scale.x_high, band.to);
  }
  for (const Tick& tick : chart.x_ticks) {
    scale.x_low = std::min(scale.x_low, tick.at);
    scale.x_high = std::max(scale.x_high, tick.at);
  }
  if (scale.x_low > scale.x_high) scale.x_low = 0, scale.x_high = 1;
  if (scale.x_low == scale.x_high) scale.x_high = scale.x_low + 1;
  if (scale.y_low > scale.y_high) scale.y_low = scale.y_high = 1;
  if (chart.logarithmic) {
    round_outwards(scale);
  } else {
    scale.y_low = std::min(0.0, scale.y_low);
    scale.y_high = std::max(scale.y_high * 1.05, scale.y_low + 1e-9);
  }
  return scale;
}

std::vector<double> y_ticks(const Scale& scale) {
  if (!scale.logarithmic) return round_ticks(scale.y_low, scale.y_high, 5);
  std::vector<double> ticks;
  for (double at = scale.y_low; at <= scale.y_high * 1.001; at *= 10) ticks.push_back(at);
  return ticks;
}

void draw_bands(const Chart& chart, const Scale& scale, std::string& out) {
  for (std::size_t i = 0; i < chart.bands.size(); ++i) {
    const Band& band = chart.bands[i];
    const double from = scale.x(band.from);
    if (i % 2 == 0)
      fmt::format_to(std::back_inserter(out),
                     "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                     "height=\"{:.1f}\"/>\n",
                     from, kTop, std::max(0.0, scale.x(band.to) - from), kHeight - kTop - kBottom);
    fmt::format_to(std::back_inserter(out),
                   "<text class=\"band-name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", from + 4,
                   kTop + 12, escape_markup(band.name));
  }
}

void draw_axes(const Chart& chart, const Scale& scale, std::string& out) {
  const auto add = std::back_inserter(out);
  for (const double at : y_ticks(scale)) {
    const double y = scale.y(at);
    fmt::format_to(add, "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, y,
                   kWidth - kRight);
    fmt::format_to(add, "<text class=\"y-tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kLeft - 6,
                   y + 4, number(at));
  }
  std::vector<Tick> ticks = chart.x_ticks;
  if (ticks.empty())
    for (const double at : round_ticks(scale.x_low, scale.x_high, 10))
      ticks.push_back({at, number(at)});
  for (const Tick& tick : ticks)
    fmt::format_to(add, "<text class=\"x-tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   scale.x(tick.at), kHeight - kBottom + 16, escape_markup(tick.label));
  fmt::format_to(add, "<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", kLeft, kTop,
                 kHeight - kBottom, kWidth - kRight);
  fmt::format_to(add, "<text class=\"x-tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                 (kLeft + kWidth - kRight) / 2, kHeight - 8, escape_markup(chart.x_label));
  fmt::format_to(add, "<text class=\"y-label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", 4.0,
                 kTop - 8, escape_markup(chart.y_label));
}

void draw_series(const Chart& chart, const Scale& scale, std::string& out) {
  const auto add = std::back_inserter(out);
  double legend = kLeft;
  double legend_y = kTop - 20;
  for (const Series& series : chart.series) {
    std::string path;
    std::size_t points = 0;
    for (const Point& point : series.points) {
      if (!shown(chart, point)) continue;
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", points++ == 0 ? "M" : "L",
                     scale.x(point.x), scale.y(point.y));
    }
    if (points == 1) path += "h0.1";  // with round ends: a dot
    if (points != 0)
      fmt::format_to(add, "<path class=\"line\" stroke=\"{}\" d=\"{}\"/>\n", series.colour, path);
    const double width = 34 + 5.8 * static_cast<double>(series.name.size());
    if (legend + width > kWidth) {
      legend = kLeft;
      legend_y += 13;
    }
    fmt::format_to(add, "<path class=\"line\" stroke=\"{}\" d=\"M{:.1f} {:.1f}h14\"/>\n",
                   series.colour, legend, legend_y - 4);
    fmt::format_to(add, "<text class=\"legend\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", legend + 18,
                   legend_y, escape_markup(series.name));
    legend += width;
  }
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(1, count);
  if (!(rough > 0) || !std::isfinite(rough)) return {low};
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * magnitude;
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * magnitude) {
      step = factor * magnitude;
      break;
    }
  std::vector<double> ticks;
  for (double index = std::ceil(low / step); index * step <= high * (1 + 1e-9); ++index)
    ticks.push_back(index * step);
  return ticks.empty() ? std::vector<double>{low} : ticks;
}

std::string draw(const Chart& chart) {
  const Scale scale = scale_of(chart);
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n"
      "<text class=\"title\" x=\"4\" y=\"18\">{}</text>\n",
      kWidth, kHeight, escape_markup(chart.title), escape_markup(chart.title));
  draw_bands(chart, scale, out);
  draw_axes(chart, scale, out);
  draw_series(chart, scale, out);
  return out + "</svg>\n";
}

}  // namespace fairlead::bench
