#include "api/apimachinery/selector/selector.h"

#include <gtest/gtest.h>

#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

// The grammar of label selectors, with the canonical text of each.
TEST(LabelSelector, ParsesToCanonicalText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"a", "a"},
      {"!a", "!a"},
      {"a=b", "a=b"},
      {" a == b ", "a==b"},
      {"a!=b", "a!=b"},
      {"a=", "a="},
      {"a in (c,b,b)", "a in (b,c)"},
      {"a notin (x)", "a notin (x)"},
      {"a in ()", "a in ()"},
      {"a in (x,)", "a in (,x)"},
      {"n>5", "n>5"},
      {"n<5", "n<5"},
      {"z=1,a=2", "a=2,z=1"},
      {"in in (in,notin)", "in in (in,notin)"},
      {"example.com/role=x,!b", "!b,example.com/role=x"},
  };
  for (const auto& [input, canonical] : cases) {
    const auto selector = LabelSelector::parse(input);
    ASSERT_TRUE(selector) << input << ": " << selector.error().message;
    EXPECT_EQ(selector->to_string(), canonical) << input;
    const auto again = LabelSelector::parse(selector->to_string());
    ASSERT_TRUE(again) << canonical;
    EXPECT_EQ(*again, *selector) << canonical;
  }
}

// What cannot be a selector is refused with kube-apiserver's words.
TEST(LabelSelector, RefusesBadText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a,", "found '', expected: identifier after ','"},
      {"a=b c", "found 'c', expected: ',' or 'end of string'"},
      {",a", "found ',', expected: !, identifier, or 'end of string'"},
      {"a in b", "unable to parse requirement: found 'b' expected: '('"},
      {"a in (b", "unable to parse requirement: found '', expected: ',' or ')'"},
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"!", "unable to parse requirement: found '', expected: identifier"},
      {"a==(", "unable to parse requirement: found '(', expected: identifier"},
      {"!a=b", ""},
      {"-a=b", "unable to parse requirement: <nil>: Invalid value: \"-a\""},
      {"a=-b", "unable to parse requirement: values[0][a]: Invalid value: \"-b\""},
      {"a>x",
       "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
       "operators, the value must be an integer"},
      {"a=" + std::string(64, 'x'), "unable to parse requirement"},
  };
  for (const auto& [input, message] : cases) {
    const auto selector = LabelSelector::parse(input);
    if (message.empty()) continue;
    ASSERT_FALSE(selector) << input;
    EXPECT_EQ(selector.error().code, Code::invalid);
    EXPECT_TRUE(selector.error().message.starts_with(message)) << selector.error().message;
  }
}

// Negative requirements hold for objects that lack the label; the others do not.
TEST(LabelSelector, MatchesLabels) {
  const Json object = json(R"({"metadata":{"labels":{"a":"1","tier":"web","n":"7"}}})");
  const Json bare = json(R"({"metadata":{}})");
  struct Case {
    std::string selector;
    bool labelled;
    bool unlabelled;
  };
  for (const Case& c : std::vector<Case>{{"", true, true},
                                         {"a", true, false},
                                         {"!a", false, true},
                                         {"a=1", true, false},
                                         {"a=2", false, false},
                                         {"a!=1", false, true},
                                         {"a!=2", true, true},
                                         {"a in (1,2)", true, false},
                                         {"a notin (1,2)", false, true},
                                         {"n>6", true, false},
                                         {"n<7", false, false},
                                         {"tier>1", false, false},
                                         {"a=1,tier=web", true, false},
                                         {"a=1,tier=db", false, false}}) {
    const auto selector = LabelSelector::parse(c.selector);
    ASSERT_TRUE(selector) << c.selector;
    EXPECT_EQ(selector->matches(object), c.labelled) << c.selector;
    EXPECT_EQ(selector->matches(bare), c.unlabelled) << c.selector;
  }
}

// Terms are split at unescaped commas; values may carry escapes.
TEST(FieldSelector, Parses) {
  const auto selector = FieldSelector::parse(R"(b==2,a=x\,y\=z\\,,c!=)");
  ASSERT_TRUE(selector);
  ASSERT_EQ(selector->terms().size(), 3u);
  EXPECT_EQ(selector->terms()[0], (FieldSelector::Term{"a", true, "x,y=z\\"}));
  EXPECT_EQ(selector->terms()[1], (FieldSelector::Term{"b", true, "2"}));
  EXPECT_EQ(selector->terms()[2], (FieldSelector::Term{"c", false, ""}));
  EXPECT_EQ(selector->to_string(), R"(a=x\,y\=z\\,b=2,c!=)");
  EXPECT_EQ(selector->required("b"), "2");
  EXPECT_FALSE(selector->required("c"));
  EXPECT_EQ(*FieldSelector::parse(selector->to_string()), *selector);
}

// Broken terms and unsupported paths are told apart.
TEST(FieldSelector, RefusesBadText) {
  EXPECT_EQ(FieldSelector::parse("abc").error().message,
            "invalid selector: 'abc'; can't understand 'abc'");
  EXPECT_EQ(FieldSelector::parse("a=b=c").error().message,
            "invalid field selector: unescaped character in value: =");
  EXPECT_EQ(FieldSelector::parse("a=\\x").error().message,
            "invalid field selector: invalid escape sequence: \\x");
  EXPECT_FALSE(FieldSelector::parse("a=\\"));
  const auto unsupported = FieldSelector::parse("spec.weight=1")->check(widget_kind());
  ASSERT_FALSE(unsupported);
  EXPECT_EQ(unsupported.error().message, "field label not supported: spec.weight");
  EXPECT_TRUE(FieldSelector::parse("metadata.name=a,metadata.namespace=b,spec.color!=red")
                  ->check(widget_kind()));
}

// A watch keeps its selector, and a refusal repeats only a little of it.
TEST(Selectors, AreOfBoundedSize) {
  const auto repeated = [](const std::string& part, std::size_t times) {
    std::string text = part;
    for (std::size_t i = 1; i < times; ++i) text += "," + part;
    return text;
  };
  EXPECT_TRUE(LabelSelector::parse(repeated("a", 100)));
  EXPECT_FALSE(LabelSelector::parse(repeated("a", 101)));
  std::string values = "v0";
  for (int i = 1; i < 1'000; ++i) values += ",v" + std::to_string(i);
  EXPECT_TRUE(LabelSelector::parse("a in (" + values + ")"));
  const auto longer = LabelSelector::parse("a in (" + values + ",v1000)");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::invalid);
  EXPECT_TRUE(FieldSelector::parse(repeated("a=b", 20)));
  EXPECT_FALSE(FieldSelector::parse(repeated("a=b", 21)));
  EXPECT_LT(FieldSelector::parse(std::string(10'000, 'x')).error().message.size(), 500U);
}

// Absent fields compare as empty text, numbers as decimal.
TEST(FieldSelector, MatchesFields) {
  const Json object = json(R"({"metadata":{"name":"w"},"spec":{"size":5}})");
  const std::vector<std::pair<std::string, bool>> cases = {
      {"metadata.name=w", true}, {"metadata.name!=w", false},
      {"spec.size=5", true},     {"spec.color=", true},
      {"spec.color=red", false}, {"metadata.name=w,spec.size=6", false}};
  for (const auto& [selector, expected] : cases) {
    EXPECT_EQ(FieldSelector::parse(selector)->matches(object), expected) << selector;
  }
}

}  // namespace
}  // namespace fairlead::apimachinery
