#include "foundation/wire/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fairlead::wire {
namespace {

Json parsed(std::string_view text) {
  auto result = parse_json(text);
  EXPECT_TRUE(result) << text << ": " << result.error().to_string();
  return result ? result->value : Json();
}

// Text that is already in canonical form comes back unchanged.
TEST(Json, CanonicalTextSurvivesARoundTrip) {
  for (const std::string_view text :
       {R"({})", R"([])", R"(null)", R"("")", R"({"a":{"b":[1,-2,true,false,null,"x"]},"c":[]})",
        R"({"max":9223372036854775807,"min":-9223372036854775808,"umax":18446744073709551615})",
        R"("\"\\\b\f\n\r\t\u0001\u0000 ünïcødé 🐙")", R"([0.1,1.5e+300,1e-7,5e-324,123456.789])"}) {
    EXPECT_EQ(encode_json(parsed(text)), text);
  }
}

// Escapes, white space and number spellings that differ only in form are accepted and normalised.
TEST(Json, OtherSpellingsAreNormalised) {
  struct Case {
    std::string_view text, canonical;
  };
  for (const auto& [text, canonical] : {
           Case{" { \"a\" : [ 1 , 2 ] } \n", R"({"a":[1,2]})"},
           Case{R"("\u00fc\ud83d\udc19\/")", "\"ü🐙/\""},
           Case{"1.0", "1"},
           Case{"1e3", "1000"},
           Case{"100000000000000000000", "100000000000000000000"},
           Case{"1e21", "1e+21"},
           Case{"1e20", "100000000000000000000"},
           Case{"0.000001", "0.000001"},
           Case{"0.0000001", "1e-7"},
           Case{"-0", "0"},
           Case{"-0.0", "0"},
           Case{"1e-400", "0"},
       }) {
    EXPECT_EQ(encode_json(parsed(text)), canonical) << text;
  }
}

// Characters that need an escape get it wherever they stand, also across the encoder's pieces.
TEST(Json, EscapesStandAnywhere) {
  for (const std::size_t length : {1, 7, 8, 9, 17, 4'095, 4'096, 4'097}) {
    for (const std::size_t at : {std::size_t{0}, length / 2, length - 1}) {
      for (const char c : {'"', '\\', '\n', '\x01', '\x1f', '\x20', '\x7f'}) {
        std::string text(length, 'x');
        text[at] = c;
        const std::string encoded = encode_json(Json(text));
        EXPECT_EQ(parsed(encoded), Json(text));
        EXPECT_EQ(encoded.size() > length + 2, c < 0x20 || c == '"' || c == '\\');
      }
    }
  }
  EXPECT_EQ(encode_json(Json("ü🐙ü🐙ü🐙")), "\"ü🐙ü🐙ü🐙\"");
}

// Appending goes on where the text ended.
TEST(Json, AppendsToText) {
  std::string text = "[";
  encode_json_to(text, Json(1));
  encode_json_to(text, Json(","));
  EXPECT_EQ(text, "[1\",\"");
}

// Integers keep their kind and value over the whole 64-bit range; they never pass through a double.
TEST(Json, IntegersAreExact) {
  EXPECT_EQ(parsed("9007199254740993").as_int64(), 9007199254740993);
  EXPECT_EQ(parsed("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parsed("18446744073709551615").as_uint64(), std::numeric_limits<std::uint64_t>::max());
}

// Whatever is not exactly one well-formed value is refused with the place where it went wrong.
TEST(Json, MalformedTextIsRefused) {
  struct Case {
    std::string_view text, message;
  };
  for (const auto& [text, message] : {
           Case{"", "JSON offset 0: unexpected end of JSON input"},
           Case{"{\"a\":", "JSON offset 5: unexpected end of JSON input"},
           Case{"{} {}", "JSON offset 3: unexpected data after the value"},
           Case{"{]", "JSON offset 1: unexpected character ']'"},
           Case{"[1,]", "JSON offset 3: unexpected character ']'"},
       }) {
    const auto result = parse_json(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, Code::invalid);
    EXPECT_EQ(result.error().message, message);
  }
  for (const std::string_view text : {"nul",
                                      "01",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "'a'",
                                      "{a:1}",
                                      "\"\n\"",
                                      "\"\\x\"",
                                      "\"\\ud800\"",
                                      "// c\n1",
                                      "NaN",
                                      "Infinity",
                                      "1e999",
                                      "\xff",
                                      "\"\xff\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\xef\xbb\xbf{}",
                                      "[1",
                                      "\"abc",
                                      "{\"a\" 1}",
                                      "{\"a\":1,}"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
}

// Depth and size are limits, not suggestions.
TEST(Json, LimitsHold) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(100)));
  EXPECT_FALSE(parse_json(nested(101)));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  EXPECT_TRUE(parse_json("[1]", {.max_depth = 1, .max_bytes = 3}));
  EXPECT_FALSE(parse_json("[12]", {.max_depth = 1, .max_bytes = 3}));
  std::string wide = "{";
  for (int i = 0; i <= 20'000; ++i) {
    wide += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  }
  EXPECT_FALSE(parse_json(wide + "}"));
}

// A field given twice is reported by its full path, once, and the last value wins.
TEST(Json, DuplicateFieldsAreReportedByPath) {
  auto result = parse_json(
      R"({"spec":{"size":1,"size":2,"size":3},"list":[{"x":1},{"x":1,"x":[]}],"spec2":{}})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->duplicates, (std::vector<std::string>{"spec.size", "list[1].x"}));
  EXPECT_EQ(encode_json(result->value),
            R"({"spec":{"size":3},"list":[{"x":1},{"x":[]}],"spec2":{}})");

  result = parse_json(R"({"a":{"b":1,"b":2},"a":{"c":1}})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->duplicates, (std::vector<std::string>{"a.b", "a"}));

  EXPECT_TRUE(parse_json(R"({"a":{"a":1},"b":[1,{"a":1}]})")->duplicates.empty());
}

// Keys spelt with escapes are the same key.
TEST(Json, DuplicatesAreFoundBehindEscapes) {
  EXPECT_EQ(parse_json(R"({"ab":1,"a\u0062":2})")->duplicates, std::vector<std::string>{"ab"});
}

// Doubles are read exactly: printing and reading again is the same number.
TEST(Json, MembersAreReadOver) {
  constexpr std::string_view kSkip[] = {"metadata.managedFields", "more"};
  const auto left = [&](std::string_view text) {
    const auto parsed = parse_json(text, {.skip = kSkip});
    return parsed ? encode_json(parsed->value) : parsed.error().message;
  };
  EXPECT_EQ(left(R"({"metadata":{"managedFields":[{"a":{"b":[1,"x",null]}},2],"name":"n"},"s":1})"),
            R"({"metadata":{"name":"n"},"s":1})");
  EXPECT_EQ(left(R"({"more":true,"a":{"more":1,"metadata":{"managedFields":2}}})"),
            R"({"a":{"more":1,"metadata":{"managedFields":2}}})");
  EXPECT_EQ(left(R"({"metadata":{"managedFields":"x"}})"), R"({"metadata":{}})");
  EXPECT_EQ(left(R"({"more":{},"metadata":{"managedFields":[]}})"), R"({"metadata":{}})");
  // Not these: inside a list, behind another name, a name with a dot, at the root of another value.
  for (const char* whole :
       {R"({"":{"more":1}})", R"({"metadata":[{"managedFields":1}]})", R"([{"more":1}])",
        R"({"a":[{"more":1}]})", R"({"x\u0001metadata":{"managedFields":1}})",
        R"({"metadata.managedFields":1})", R"({"metadata":{"a":{"managedFields":1}}})"})
    EXPECT_EQ(left(whole), whole);
  EXPECT_NE(left(R"({"more":{"a":})").find("offset"), std::string::npos);  // still well-formed
}

TEST(Json, DoublesAreExact) {
  for (const double number : {0.1, 1.0 / 3, 2.2250738585072011e-308, 1.7976931348623157e308,
                              4.9406564584124654e-324, 8.41e21, 900719925474099.5}) {
    EXPECT_EQ(parsed(encode_json(Json(number))).as_double(), number);
  }
  EXPECT_EQ(encode_json(Json(std::nan(""))), "null");
}

// The form for people has one member a line and leaves empty containers closed.
TEST(Json, PrettyFormIsIndented) {
  EXPECT_EQ(encode_json_pretty(parsed(R"({"a":[1,{"b":{}}],"c":[]})")),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    }\n  ],\n  \"c\": []\n}");
}

// Paths reach through objects only; anything missing on the way is absent, never an error.
TEST(Json, FindReachesByPath) {
  Json value = parsed(R"({"a":{"b":{"c":"x"}},"n":1,"l":[{"c":"y"}]})");
  EXPECT_EQ(find_string(value, "a.b.c"), "x");
  EXPECT_EQ(find_string(value, "n"), "");
  EXPECT_EQ(find(value, "a.b.c.d"), nullptr);
  EXPECT_EQ(find(value, "l.c"), nullptr);
  EXPECT_EQ(find(value, ""), nullptr);
  member_object(value.as_object(), "new")["k"] = 1;
  EXPECT_EQ(*find(value, "new.k"), Json(1));
}

}  // namespace
}  // namespace fairlead::wire
