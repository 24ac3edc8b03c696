#include "tools/bench/svg_chart.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

TEST(SvgChart, RoundTicks) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(0, 93, 10), (std::vector<double>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
  EXPECT_EQ(round_ticks(3, 3, 5), (std::vector<double>{3}));
}

// Corners of the values are corners of the paper: x runs right, y runs up.
TEST(SvgChart, PointsLieWhereTheyBelong) {
  const Chart chart{.title = "t",
                    .logarithmic = true,
                    .series = {{.name = "p50", .colour = "red", .points = {{0, 1}, {10, 100}}}}};
  const std::string svg = draw(chart);
  EXPECT_NE(svg.find("stroke=\"red\" d=\"M64.0 256.0L904.0 52.0\""), std::string::npos) << svg;
  for (const char* tick : {">1</text>", ">10</text>", ">100</text>"})
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
}

// What cannot be drawn is left out and does not become "nan" in the picture.
TEST(SvgChart, OddValues) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  for (const bool logarithmic : {false, true}) {
    for (std::vector<Point> points : {std::vector<Point>{},
                                      {{1, 5}},
                                      {{1, 0}, {2, -1}},
                                      {{nothing, 1}, {1, nothing}},
                                      {{1, 1e300}, {2, 1e-300}},
                                      {{5, 5}, {5, 5}}}) {
      const std::string svg = draw({.title = "t",
                                    .logarithmic = logarithmic,
                                    .series = {{.name = "a", .points = std::move(points)}}});
      EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
      EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
    }
  }
}

TEST(SvgChart, TextIsEscaped) {
  const std::string svg = draw({.title = "<a&\"b\">", .bands = {{"<i>", 0, 1}}});
  EXPECT_EQ(svg.find("<a&"), std::string::npos);
  EXPECT_EQ(svg.find("<i>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;a&amp;&quot;b&quot;&gt;"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::bench
