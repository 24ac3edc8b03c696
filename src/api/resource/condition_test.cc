#include "api/resource/condition.h"

#include <gtest/gtest.h>

#include "api/resource/kind.h"

namespace fairlead::resource {
namespace {

Moment at(int seconds) { return Moment(std::chrono::seconds(seconds)); }

Condition condition(const char* status, const char* reason) {
  return {.type = "Ready",
          .status = status,
          .observed_generation = 1,
          .last_transition_time = {},
          .reason = reason,
          .message = "m"};
}

std::string since(const Json& object) {
  return std::string(wire::find_string(*find_condition(object, "Ready"), "lastTransitionTime"));
}

// The time of a condition is when its status changed, not its reason; the same again changes
// nothing; other conditions stay.
TEST(Condition, KeepsTheTimeOfItsStatus) {
  Json object =
      JsonObject{{"status", JsonObject{{"conditions", JsonArray{JsonObject{{"type", "Other"}}}}}}};
  EXPECT_EQ(find_condition(object, "Ready"), nullptr);
  EXPECT_TRUE(set_condition(object, condition("False", "A"), at(1)));
  EXPECT_FALSE(set_condition(object, condition("False", "A"), at(2)));
  EXPECT_TRUE(set_condition(object, condition("False", "B"), at(3)));
  EXPECT_EQ(since(object), "1970-01-01T00:00:01Z");
  EXPECT_TRUE(set_condition(object, condition("True", "B"), at(4)));
  EXPECT_EQ(since(object), "1970-01-01T00:00:04Z");
  EXPECT_EQ(wire::find(object, "status.conditions")->get_array().size(), 2u);
  EXPECT_NE(find_condition(object, "Other"), nullptr);
  Json bare = JsonObject{};
  EXPECT_TRUE(set_condition(bare, condition("True", "A"), at(1)));
  EXPECT_EQ(wire::find_string(*find_condition(bare, "Ready"), "reason"), "A");
}

}  // namespace
}  // namespace fairlead::resource
