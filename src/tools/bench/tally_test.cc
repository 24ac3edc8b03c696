#include "tools/bench/tally.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// Refusals count as requests and as errors; what never got an answer only as an error.
TEST(Tally, CountsAnswersAndErrors) {
  Tally tally;
  tally.answered(Verb::create, 201, 100, 300, 2ms);
  tally.answered(Verb::create, 409, 100, 200, 4ms);
  tally.failed("io: closed");
  EXPECT_EQ(tally.requests(), 2u);
  EXPECT_EQ(tally.errors(), 2u);
  EXPECT_EQ(tally.error_counts().at("409"), 1u);
  EXPECT_EQ(tally.error_counts().at("io: closed"), 1u);
}

// Whoever times requests must know that they did what they should: anything but 2xx is a problem,
// and so is a run without answers.
TEST(Tally, Problems) {
  Tally tally;
  EXPECT_EQ(tally.problems(), std::vector<std::string>{"no request was answered"});
  tally.answered(Verb::get, 200, 0, 100, 1ms);
  EXPECT_TRUE(tally.problems().empty());
  tally.answered(Verb::get, 304, 0, 0, 1ms);
  tally.answered(Verb::get, 429, 0, 0, 1ms);
  tally.answered(Verb::get, 429, 0, 0, 1ms);
  tally.wrong("short answer");
  EXPECT_EQ(tally.problems(),
            (std::vector<std::string>{"1 of 4 requests: 304", "2 of 4 requests: 429",
                                      "1 of 4 requests: short answer"}));
  const Json json = tally.json(1s);
  EXPECT_EQ(wire::find(json, "answers")->as_object().at("429").to_number<int>(), 2);
}

// The JSON has the figures that scripts read.
TEST(Tally, JsonFigures) {
  Tally tally;
  for (int i = 0; i < 10; ++i) tally.answered(Verb::get, 200, 0, 1'000'000, 1ms);
  const Json json = tally.json(2s);
  EXPECT_DOUBLE_EQ(wire::find(json, "requestsPerSecond")->as_double(), 5);
  EXPECT_DOUBLE_EQ(wire::find(json, "receivedMegabytesPerSecond")->as_double(), 5);
  EXPECT_DOUBLE_EQ(wire::find(json, "latencyMilliseconds")->as_object().at("max").as_double(), 1);
  EXPECT_TRUE(wire::find(json, "errors")->as_object().empty());
}

// Text for people: rates with separators, percentiles in milliseconds, each error on a line.
TEST(Tally, Text) {
  Tally tally;
  for (int i = 0; i < 20'000; ++i) tally.answered(Verb::get, 200, 0, 0, 3ms);
  tally.failed("timeout");
  const std::string text = tally.text(2s);
  EXPECT_NE(text.find("10,000 requests/s"), std::string::npos) << text;
  EXPECT_NE(text.find("p99 3.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("error    timeout: 1"), std::string::npos) << text;
}

// Figures keep three or four digits that matter.
TEST(Tally, Figures) {
  EXPECT_EQ(figure(0.1234), "0.123");
  EXPECT_EQ(figure(123.45), "123.5");
  EXPECT_EQ(figure(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace fairlead::bench
