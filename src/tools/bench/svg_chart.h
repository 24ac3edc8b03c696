// A line chart as an SVG element, for reports that are one file and need nothing else. Pure.
//
// Colours are CSS variables of the page around it (--ink, --faint, --band); lines bring their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead::bench {

struct Point {
  double x = 0, y = 0;
};

struct Series {
  std::string name;
  std::string colour;
  std::vector<Point> points;  // ascending x
};

// A stretch of the x axis with a name.
struct Band {
  std::string name;
  double from = 0, to = 0;
};

struct Tick {
  double at = 0;
  std::string label;
};

struct Chart {
  std::string title;
  std::string x_label, y_label;
  bool logarithmic = false;   // the y axis; what is not positive is then left out
  std::vector<Tick> x_ticks;  // none: round numbers
  std::vector<Series> series;
  std::vector<Band> bands;
};

std::string draw(const Chart& chart);

// Text inside HTML and SVG.
std::string escape_markup(std::string_view text);

// Round numbers that divide [low, high] into about `count` parts; at least one of them.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace fairlead::bench
