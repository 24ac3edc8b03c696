#include "tools/bench/objects.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// Every kind in the table gives objects of its type, named apart from one another.
TEST(Objects, EveryKindHasABody) {
  for (const char* kind : {"configmaps", "secrets", "leases", "subnets", "networkattachments"}) {
    const auto maker = ObjectMaker::make(kind, "r", 40);
    ASSERT_TRUE(maker) << kind;
    const Json object = maker->object(7);
    EXPECT_EQ(wire::find_string(object, "metadata.name"), "r-7");
    EXPECT_FALSE(wire::find_string(object, "kind").empty());
    EXPECT_GT(wire::encode_json(object).size(),
              wire::encode_json(ObjectMaker::make(kind, "r", 0)->object(7)).size() + 39);
  }
  EXPECT_EQ(ObjectMaker::make("pods", "r", 0).error().code, Code::invalid);
}

// An object made to satisfy a selector carries its value where the selector looks.
TEST(Objects, SatisfySelectors) {
  const auto maker = ObjectMaker::make("networkattachments", "r", 0);
  Json object = maker->object(0);
  ObjectMaker::satisfy(object, *SelectorTemplate::parse("spec.node=n%d"), 12);
  ObjectMaker::satisfy(object, *SelectorTemplate::parse("example.com/tier=t%d"), 3);
  EXPECT_EQ(wire::find_string(object, "spec.node"), "n12");
  const Json* labels = wire::find(object, "metadata.labels");
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->as_object().at("example.com/tier").as_string(), "t3");
}

// An update names the version it replaces; a patch touches the round alone.
TEST(Objects, UpdatesAndPatches) {
  const auto maker = ObjectMaker::make("configmaps", "r", 0);
  const Json update = wire::parse_json(maker->update_body(1, 5, "99"))->value;
  EXPECT_EQ(wire::find_string(update, "metadata.resourceVersion"), "99");
  EXPECT_EQ(wire::find_string(update, "metadata.annotations.bench-round"), "5");
  const Json patch = wire::parse_json(ObjectMaker::patch_body(6))->value;
  EXPECT_EQ(wire::find_string(patch, "metadata.annotations.bench-round"), "6");
  EXPECT_EQ(patch.as_object().size(), 1u);
}

// The member is found by its text; a managed field of the same name is not it.
TEST(Objects, MembersByText) {
  EXPECT_EQ(first_string_member(R"({"f:bench-round":{},"bench-round":"42"})", "bench-round"), "42");
  EXPECT_EQ(first_string_member(R"({"a":1})", "bench-round"), "");
  EXPECT_EQ(first_string_member(R"({"bench-round":"4)", "bench-round"), "");
}

}  // namespace
}  // namespace fairlead::bench
