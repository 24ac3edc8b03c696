#include "tools/bench/settings.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// Every verb's name leads back to it.
TEST(Settings, VerbsByName) {
  for (const Verb verb :
       {Verb::create, Verb::get, Verb::list, Verb::patch, Verb::update, Verb::remove, Verb::mixed})
    EXPECT_EQ(*parse_verb(verb_name(verb)), verb);
  EXPECT_EQ(parse_verb("destroy").error().code, Code::invalid);
}

// Verbs that need objects get some; a patch never shares one between two connections.
TEST(Settings, ObjectsFollowTheVerb) {
  EXPECT_EQ(check_settings(ApiSettings{.verb = Verb::create})->objects, 0u);
  EXPECT_EQ(check_settings(ApiSettings{.verb = Verb::get})->objects, 1'000u);
  EXPECT_EQ(check_settings(ApiSettings{.verb = Verb::remove, .count = 77})->objects, 77u);
  const ApiSettings patch{.verb = Verb::patch, .connections = 64, .objects = 5};
  EXPECT_EQ(check_settings(patch)->objects, 64u);
}

// Impossible settings are refused by the name of their flag.
TEST(Settings, RefusalsNameTheFlag) {
  const auto refused = [](ApiSettings settings, std::string_view flag) {
    const auto checked = check_settings(std::move(settings));
    return !checked && checked.error().message.contains(flag);
  };
  EXPECT_TRUE(refused({.connections = 0}, "--connections"));
  EXPECT_TRUE(refused({.duration = 0s}, "--duration"));
  EXPECT_TRUE(refused({.size = 2 << 20}, "--size"));
  EXPECT_TRUE(refused({.rate = -1}, "--rate"));
}

// The template's key decides whether it is a field or a label.
TEST(Settings, SelectorTemplates) {
  const auto field = SelectorTemplate::parse("spec.node=node-%d");
  EXPECT_TRUE(field->field);
  EXPECT_EQ(field->selector(12), "spec.node=node-12");
  const auto label = SelectorTemplate::parse("example.com/tier=t%dx");
  EXPECT_FALSE(label->field);
  EXPECT_EQ(label->selector(3), "example.com/tier=t3x");
  for (const char* bad : {"", "spec.node", "spec.node=x", "=%d", "a%d=b"})
    EXPECT_FALSE(SelectorTemplate::parse(bad)) << bad;
}

// A thousand watchers are spread over connections that any server grants the streams for.
TEST(Settings, WatchersAreSpread) {
  EXPECT_EQ(check_settings(WatchSettings{.watchers = 10})->connections, 1u);
  EXPECT_EQ(check_settings(WatchSettings{.watchers = 1'000, .matching = 0})->connections, 5u);
}

}  // namespace
}  // namespace fairlead::bench
