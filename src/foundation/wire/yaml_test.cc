#include "foundation/wire/yaml.h"

#include <gtest/gtest.h>

#include "foundation/wire/utf8.h"

namespace fairlead::wire {
namespace {

std::string json_of(std::string_view text) {
  auto result = parse_yaml(text);
  EXPECT_TRUE(result) << text << ": " << result.error().to_string();
  return result ? encode_json(result->value) : "";
}

// Plain scalars mean what sigs.k8s.io/yaml makes of them; quoted ones are strings.
TEST(Yaml, ScalarsResolveAsKubernetesReadsThem) {
  struct Case {
    std::string_view text, json;
  };
  for (const auto& [text, json] : {
           Case{"a: 1", R"({"a":1})"},
           Case{"a: '1'", R"({"a":"1"})"},
           Case{"a: \"1\"", R"({"a":"1"})"},
           Case{"a: yes", R"({"a":true})"},
           Case{"a: Off", R"({"a":false})"},
           Case{"a: 'yes'", R"({"a":"yes"})"},
           Case{"a: ~", R"({"a":null})"},
           Case{"a:", R"({"a":null})"},
           Case{"a: null", R"({"a":null})"},
           Case{"a: 0x1F", R"({"a":31})"},
           Case{"a: 0777", R"({"a":511})"},
           Case{"a: 0b101", R"({"a":5})"},
           Case{"a: 1_000", R"({"a":1000})"},
           Case{"a: +5", R"({"a":5})"},
           Case{"a: -9223372036854775808", R"({"a":-9223372036854775808})"},
           Case{"a: 18446744073709551615", R"({"a":18446744073709551615})"},
           Case{"a: 1.5", R"({"a":1.5})"},
           Case{"a: 1e3", R"({"a":1000})"},
           Case{"a: 1.2.3", R"({"a":"1.2.3"})"},
           Case{"a: 10.0.0.0/24", R"({"a":"10.0.0.0/24"})"},
           Case{"a: 2020-01-01", R"({"a":"2020-01-01"})"},
           Case{"a: 12:30", R"({"a":"12:30"})"},
           Case{"a: !!str 1", R"({"a":"1"})"},
           Case{"1: a", R"({"1":"a"})"},
           Case{"true: a", R"({"true":"a"})"},
           Case{"a: [1, {b: c}]", R"({"a":[1,{"b":"c"}]})"},
           Case{"- 1\n- - 2\n  - x: z\n", R"([1,[2,{"x":"z"}]])"},
           Case{"a: |\n  x\n  y\n", R"({"a":"x\ny\n"})"},
           Case{"a: >-\n  x\n  y\n", R"({"a":"x y"})"},
           Case{"# only a comment\n", "null"},
           Case{"", "null"},
           Case{"---\na: 1\n", R"({"a":1})"},
           Case{"---\na: 1\n---\n", R"({"a":1})"},
       }) {
    EXPECT_EQ(json_of(text), json) << text;
  }
}

// JSON is YAML, and is read by the JSON parser with its exact numbers.
TEST(Yaml, JsonIsReadAsJson) {
  EXPECT_EQ(json_of(R"( {"a": 9007199254740993, "b": "yes"})"),
            R"({"a":9007199254740993,"b":"yes"})");
  EXPECT_EQ(json_of("{a: 1}"), R"({"a":1})");
}

// Anchors, aliases and merge keys expand; a map's own members beat merged ones.
TEST(Yaml, AliasesAndMergesExpand) {
  EXPECT_EQ(json_of("a: &x {p: 1, q: 2}\nb: *x\nc:\n  <<: *x\n  q: 3\n"),
            R"({"a":{"p":1,"q":2},"b":{"p":1,"q":2},"c":{"q":3,"p":1}})");
}

// A small text cannot become a large value: each expansion is paid for.
TEST(Yaml, AliasBombsAreRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 0; k < 9; ++k) bomb += "," + below;
    bomb += "]\n";
  }
  const auto result = parse_yaml(bomb, {.max_depth = 100, .max_bytes = 1 << 20});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("expand beyond the limit"), std::string::npos);
}

// Broken, ambiguous, too deep or too large texts fail with invalid and a place.
TEST(Yaml, BadTextIsRefused) {
  for (const std::string& text :
       {std::string("a: [1"), std::string("a: b: c"), std::string("\ta: 1"), std::string("a: *x"),
        std::string("a: .inf"), std::string("a: .nan"), std::string("a: 1e999"),
        std::string("? [a]\n: b"), std::string("a: 1\n---\nb: 2\n"), std::string("a: \xff"),
        std::string("a: \"\x01\""), std::string("a\0b", 3), std::string("<<: 1"),
        std::string("&a [*a]"), std::string(200, '['), std::string(100'000, '[')}) {
    const auto result = parse_yaml(text);
    ASSERT_FALSE(result) << text.substr(0, 40);
    EXPECT_EQ(result.error().code, Code::invalid);
  }
  EXPECT_EQ(parse_yaml("a: 1\nb: [").error().message.substr(0, 12), "YAML line 2,");
  EXPECT_FALSE(parse_yaml("a: 12", {.max_depth = 9, .max_bytes = 4}));
  EXPECT_FALSE(parse_yaml("a: {b: {c: 1}}", {.max_depth = 2, .max_bytes = 100}));
}

// Fields given twice are reported by path, as in JSON.
TEST(Yaml, DuplicateFieldsAreReported) {
  auto result = parse_yaml("spec:\n  l:\n  - x: 1\n  - x: 1\n    x: 2\n  size: 1\n  size: 2\n");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->duplicates, (std::vector<std::string>{"spec.l[1].x", "spec.size"}));
  EXPECT_EQ(encode_json(result->value), R"({"spec":{"l":[{"x":1},{"x":2}],"size":2}})");
}

// What is written is block style, quoted where a reader would see something else than the string.
TEST(Yaml, WritesBlockStyle) {
  const auto value = parse_json(
      R"({"kind":"Config","no":1,"e":{},"l":[{"a":"yes","b":[1,[2]]},"x y",[]],"s":"10.0.0.1",)"
      R"("t":"a: b","d":"2020-01-01","m":"x\ny","v":"1.20","u":"https://127.0.0.1:6443"})");
  ASSERT_TRUE(value);
  EXPECT_EQ(
      encode_yaml(value->value),
      "kind: Config\n\"no\": 1\ne: {}\nl:\n- a: \"yes\"\n  b:\n  - 1\n  -\n    - 2\n- x y\n- []\n"
      "s: 10.0.0.1\nt: \"a: b\"\nd: \"2020-01-01\"\nm: \"x\\ny\"\nv: \"1.20\"\n"
      "u: https://127.0.0.1:6443\n");
}

// Whatever the writer writes, the reader reads back as the same value.
TEST(Yaml, RoundTripsAnyString) {
  for (const std::string_view text :
       {"",    " ",   "a ",  "- a",   "#a",   "a #b",     "a:",    ":",    "null", "~",
        "1e3", ".5",  "0x1", "<<",    "*a",   "&a",       "!a",    "%a",   "@a",   "`a",
        "{a",  "[a",  "a,b", "\"q\"", "'q'",  "a\tb",     "\n",    "ü🐙",  "1:30", "y",
        "=",   "---", "...", "? a",   "a\\b", "10.0.0.1", "1.2.3", "a: b", "\x7f", "\u2028"}) {
    const Json value = JsonObject{{text, JsonArray{Json(text)}}};
    const auto back = parse_yaml(encode_yaml(value));
    ASSERT_TRUE(back) << encode_yaml(value) << back.error().to_string();
    EXPECT_EQ(encode_json(back->value), encode_json(value));
  }
}

// Overlong forms, surrogates, stray and missing continuations are not UTF-8.
TEST(Utf8, OnlyWellFormedTextPasses) {
  for (const std::string_view good : {"", "a", "ü", "€", "🐙", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const std::string_view bad :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xe2\x28\xa1", "a\xff"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

// The paths of a small text do not take a large memory; what has no place is where its map is.
TEST(YamlPlaces, AreBounded) {
  const std::string key(1'000, 'k');
  std::string text, above;
  for (int depth = 0; depth < 20; ++depth) {
    text += "{" + key + ": ";
    above += (above.empty() ? "" : ".") + key;
  }
  text += "[";
  for (int i = 0; i < 20'000; ++i) text += "1,";
  text += "]" + std::string(20, '}') + "\n";
  YamlPlaces places;
  const Result<ParsedJson> parsed = parse_yaml(text, {.max_bytes = 1 << 20}, places);
  ASSERT_TRUE(parsed) << parsed.error().message;
  std::size_t bytes = 0;
  for (const auto& [path, place] : places.at) bytes += path.size();
  EXPECT_GT(bytes, kMostPlaceBytes / 2);
  EXPECT_LT(bytes, kMostPlaceBytes + text.size());
  EXPECT_EQ(places.find(above + "[19999]").line, 1U);
}

// Members stand where their key does, items where they begin; what has no place of its own stands
// where the part around it does.
TEST(YamlPlaces, AreThoseOfTheText) {
  const std::string text =
      "# a comment\n"
      "node: a\n"
      "election:\n"
      "  peers: [{name: b}, {name: c}]\n"
      "list:\n"
      "- x\n"
      "-   y: 1\n"
      "node: b\n";
  YamlPlaces places;
  const Result<ParsedJson> parsed = parse_yaml(text, {}, places);
  ASSERT_TRUE(parsed.has_value());
  const std::vector<std::pair<std::string, YamlPlace>> rows{
      {"node", {2, 1}},
      {"election", {3, 1}},
      {"election.peers", {4, 3}},
      {"election.peers[1]", {4, 22}},
      {"election.peers[1].name", {4, 23}},
      {"election.peers[1].port", {4, 22}},  // not there
      {"list[0]", {6, 3}},
      {"list[1].y", {7, 5}},
      {"nothing", {1, 1}},
  };
  for (const auto& [path, place] : rows) {
    EXPECT_EQ(places.find(path).line, place.line) << path;
    EXPECT_EQ(places.find(path).column, place.column) << path;
  }
  ASSERT_TRUE(places.duplicates.contains("node"));
  EXPECT_EQ(places.duplicates.at("node").line, 8U);
  YamlPlaces broken;
  const Result<ParsedJson> refused = parse_yaml("a: 1\nb: [1, 2\nc: 3\n", {}, broken);
  EXPECT_FALSE(refused.has_value());
  EXPECT_GE(broken.failure.line, 2U);
  EXPECT_FALSE(refused.error().message.starts_with("YAML line"));
}

}  // namespace
}  // namespace fairlead::wire
