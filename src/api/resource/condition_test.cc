#include "api/resource/condition.h"

#include <gtest/gtest.h>

#include "api/resource/kind.h"
#include "api/resource/networks/network_attachment.h"

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

// The cells of `kubectl get na`, by name.
std::map<std::string, std::string> cells(const Json& object) {
  std::map<std::string, std::string> shown;
  static const Kind kind = network_attachment_kind();
  for (const Column& column : kind.columns) {
    const Json cell = column.cell(object, at(0));
    shown[column.name + (column.priority > 0 ? "*" : "")] =
        cell.is_string() ? std::string(cell.get_string()) : "";
  }
  return shown;
}

// `kubectl get na` shows both addresses and, in one word, how far the attachment is; -o wide why it
// is no further.
TEST(Attachment, ColumnsTellItsState) {
  const Json six = JsonObject{{"status", JsonObject{{"ipv6", "fd00::5"}}}};
  EXPECT_EQ(cells(six).at("IPv6"), "fd00::5");
  EXPECT_EQ(cells(six).at("State"), "Addressed");
  Json object = six;
  set_condition(object, condition("True", "Implemented"), at(0));
  EXPECT_EQ(cells(object).at("State"), "Ready");
  EXPECT_EQ(cells(object).at("Message*"), "");
  set_condition(object, condition("Unknown", "AgentSilent"), at(0));
  EXPECT_EQ(cells(object).at("State"), "Silent");
  EXPECT_EQ(cells(object).at("Message*"), "m");
  Json hook = JsonObject{{"spec", JsonObject{{"postCreateExec", JsonArray{"/bin/hook"}}}},
                         {"status", JsonObject{{"ipv4", "10.0.0.5"}, {"ifcName", "f"}}}};
  EXPECT_EQ(cells(hook).at("State"), "Implemented");
  hook.at("status").get_object()["postCreateExecReport"] = JsonObject{{"exitStatus", 7}};
  EXPECT_EQ(cells(hook).at("State"), "Error");
  hook.at("status").get_object()["postCreateExecReport"] = JsonObject{{"exitStatus", 0}};
  EXPECT_EQ(cells(hook).at("State"), "Ready");
}

}  // namespace
}  // namespace fairlead::resource
