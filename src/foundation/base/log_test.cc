#include "foundation/base/log.h"

#include <gtest/gtest.h>

#include <regex>

namespace fairlead::log {
namespace {

// Each test starts from the defaults and leaves them.
class Log : public testing::Test {
 protected:
  void TearDown() override {
    set_level(Level::info);
    set_format(Format::text);
  }
};

std::string captured(Level level, std::string_view message, Fields fields) {
  testing::internal::CaptureStderr();
  write(level, message, fields);
  return testing::internal::GetCapturedStderr();
}

// The text form: time, level in five columns, message, fields; values are quoted only when needed.
TEST_F(Log, TextForm) {
  const std::string line =
      captured(Level::info, "server ready",
               {{"address", "127.0.0.1:80"}, {"n", 3}, {"why", "a b"}, {"e", ""}});
  const std::regex form(
      R"re(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  server ready address=127.0.0.1:80 n=3 why="a b" e=""
)re");
  EXPECT_TRUE(std::regex_match(line, form)) << line;
}

// Whatever a field holds, a call is one line and shows no control characters.
TEST_F(Log, EscapesControlCharacters) {
  const std::string line = captured(Level::error, "bad\nmessage", {{"x", "a\n\x1b[31m\"b\\"}});
  EXPECT_TRUE(line.ends_with("Z ERROR bad\\nmessage x=\"a\\n\\u001b[31m\\\"b\\\\\"\n")) << line;
}

// The JSON form: numbers and booleans bare, everything else a string.
TEST_F(Log, JsonForm) {
  set_format(Format::json);
  const std::string line =
      captured(Level::warning, "m",
               {{"s", "q\"\t"}, {"i", -1}, {"b", true}, {"f", 0.5}, {"nan", 0.0 / 0.0}});
  const std::regex form(
      R"re(\{"time":"[^"]+","level":"warning","message":"m","s":"q\\"\\t","i":-1,"b":true,"f":0.500000,"nan":"-?nan"\}
)re");
  EXPECT_TRUE(std::regex_match(line, form)) << line;
}

// Lines below the level do not appear.
TEST_F(Log, LevelFilters) {
  EXPECT_EQ(captured(Level::debug, "m", {}), "");
  set_level(Level::error);
  EXPECT_EQ(captured(Level::warning, "m", {}), "");
  EXPECT_FALSE(enabled(Level::info));
  set_level(Level::debug);
  EXPECT_NE(captured(Level::debug, "m", {}), "");
}

}  // namespace
}  // namespace fairlead::log
