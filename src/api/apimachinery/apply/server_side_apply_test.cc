#include "api/apimachinery/apply/server_side_apply.h"

#include <gtest/gtest.h>

#include "api/apimachinery/apply/typed_walk.h"
#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

Json config(std::string_view rest) {
  return json(R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"name":"w"},)" +
              std::string(rest) + "}");
}

ApplyOptions as(std::string manager, bool force = false, std::string subresource = "") {
  return {{std::move(manager), std::move(subresource), "2024-05-01T12:00:00Z"}, force};
}

Json applied(const Json* live, std::string_view rest, const ApplyOptions& options) {
  auto result = server_side_apply(widget_kind(), live, config(rest), options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Json();
}

std::string spec(const Json& object) { return text(object.at("spec")); }

std::string entries(const Json& object) {
  std::string out;
  const Json* list = wire::find(object, "metadata.managedFields");
  if (!list) return "none";
  for (const Json& entry : list->get_array()) {
    out += std::string(wire::find_string(entry, "manager")) + ":" +
           std::string(wire::find_string(entry, "operation")) + ":" + text(entry.at("fieldsV1")) +
           "\n";
  }
  return out;
}

// Applying to nothing creates; the applier owns leaves, items and map entries, not their parents.
TEST(ServerSideApply, Creates) {
  const Json object = applied(
      nullptr,
      R"("spec":{"size":1,"color":null,"tags":["x"],"ports":[{"port":80}],"data":{"k":"v"},"box":{"w":1}})",
      as("alice"));
  EXPECT_EQ(spec(object),
            R"({"size":1,"tags":["x"],"ports":[{"port":80}],"data":{"k":"v"},"box":{"w":1}})");
  EXPECT_EQ(entries(object),
            R"(alice:Apply:{"f:spec":{"f:box":{},"f:data":{"f:k":{}},)"
            R"("f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},)"
            R"("f:size":{},"f:tags":{"v:\"x\"":{}}}})"
            "\n");
}

// What an applier no longer lists goes away, unless someone else lists it too.
TEST(ServerSideApply, RemovesWhatIsNoLongerListed) {
  Json object = applied(
      nullptr, R"("spec":{"size":1,"color":"red","tags":["x","y"],"data":{"a":"1","b":"2"}})",
      as("alice"));
  object = applied(&object, R"("spec":{"color":"red","tags":["z"]})", as("bob"));
  EXPECT_EQ(spec(object),
            R"({"size":1,"color":"red","tags":["x","y","z"],"data":{"a":"1","b":"2"}})");
  object = applied(&object, R"("spec":{"size":1,"tags":["x"],"data":{"b":"2"}})", as("alice"));
  EXPECT_EQ(spec(object), R"({"size":1,"color":"red","tags":["x","z"],"data":{"b":"2"}})");
  object = applied(&object, R"("spec":{"size":1})", as("alice"));
  EXPECT_EQ(spec(object), R"({"size":1,"color":"red","tags":["z"]})");
}

// Keyed items merge; an item disappears with its last owner.
TEST(ServerSideApply, MergesKeyedLists) {
  Json object = applied(
      nullptr, R"("spec":{"size":1,"ports":[{"port":80,"name":"web"},{"port":81}]})", as("alice"));
  object = applied(&object, R"("spec":{"ports":[{"port":82},{"port":80}]})", as("bob"));
  EXPECT_EQ(spec(object),
            R"({"size":1,"ports":[{"port":82},{"port":80,"name":"web"},{"port":81}]})");
  object = applied(&object, R"("spec":{"size":1})", as("alice"));
  EXPECT_EQ(spec(object), R"({"size":1,"ports":[{"port":82},{"port":80}]})");
}

// A field that someone else set to another value is a conflict, reported field by field.
TEST(ServerSideApply, ReportsConflicts) {
  const Json object = applied(
      nullptr, R"("spec":{"size":1,"color":"red","ports":[{"port":80,"name":"a"}]})", as("alice"));
  auto one = server_side_apply(widget_kind(), &object, config(R"("spec":{"size":2})"), as("bob"));
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, 409);
  EXPECT_EQ(one.error().reason, "Conflict");
  EXPECT_EQ(one.error().message,
            "Apply failed with 1 conflict: conflict with \"alice\": .spec.size");
  ASSERT_EQ(one.error().details->causes.size(), 1u);
  EXPECT_EQ(one.error().details->causes[0].reason, "FieldManagerConflict");
  EXPECT_EQ(one.error().details->causes[0].message, "conflict with \"alice\"");
  EXPECT_EQ(one.error().details->causes[0].field, ".spec.size");

  auto two = server_side_apply(
      widget_kind(), &object, config(R"("spec":{"color":"blue","ports":[{"port":80,"name":"b"}]})"),
      as("bob"));
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message,
            "Apply failed with 2 conflicts: conflicts with \"alice\":\n- .spec.color\n- "
            ".spec.ports[port=80,protocol=\"TCP\"].name");
}

// A conflict with an updater names the API version it used.
TEST(ServerSideApply, NamesUpdatersWithVersion) {
  const resource::Kind kind = widget_kind();
  Json object = config(R"("spec":{"size":1})");
  track_create(kind, object, {"kubectl-create", "", "2024-05-01T12:00:00Z"});
  auto refused = server_side_apply(kind, &object, config(R"("spec":{"size":2})"), as("bob"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Apply failed with 1 conflict: conflict with \"kubectl-create\" using "
            "demo.example.com/v1: .spec.size");
}

// Force takes the field; the same value is shared without conflict.
TEST(ServerSideApply, ForceAndSharing) {
  Json object = applied(nullptr, R"("spec":{"size":1,"color":"red"})", as("alice"));
  object = applied(&object, R"("spec":{"color":"red"})", as("bob"));
  EXPECT_EQ(entries(object),
            "alice:Apply:{\"f:spec\":{\"f:color\":{},\"f:size\":{}}}\n"
            "bob:Apply:{\"f:spec\":{\"f:color\":{}}}\n");
  object = applied(&object, R"("spec":{"color":"blue"})", as("bob", true));
  EXPECT_EQ(spec(object), R"({"size":1,"color":"blue"})");
  EXPECT_EQ(entries(object),
            "alice:Apply:{\"f:spec\":{\"f:size\":{}}}\n"
            "bob:Apply:{\"f:spec\":{\"f:color\":{}}}\n");
}

// Fields nobody tracked belong to before-first-apply from the first apply on.
TEST(ServerSideApply, AdoptsUntrackedFields) {
  const Json live = config(R"("spec":{"size":1,"color":"red"})");
  const Json object = applied(&live, R"("spec":{"size":1})", as("alice"));
  EXPECT_EQ(entries(object),
            "alice:Apply:{\"f:spec\":{\"f:size\":{}}}\n"
            "before-first-apply:Update:{\"f:spec\":{\".\":{},\"f:color\":{},\"f:size\":{}}}\n");
  auto refused =
      server_side_apply(widget_kind(), &live, config(R"("spec":{"size":2})"), as("alice"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 409);
}

// Applying the same again changes nothing at all, not even a time.
TEST(ServerSideApply, RepeatedApplyIsNoChange) {
  const Json object = applied(nullptr, R"("spec":{"size":1,"tags":["x"]})", as("alice"));
  ApplyOptions later = as("alice");
  later.writer.now = "2030-01-01T00:00:00Z";
  EXPECT_EQ(text(applied(&object, R"("spec":{"size":1,"tags":["x"]})", later)), text(object));
}

// Appliers of /status own status alone.
TEST(ServerSideApply, StatusSubresource) {
  Json object = applied(nullptr, R"("spec":{"size":1})", as("alice"));
  object = applied(&object, R"("status":{"phase":"Ready"})", as("ctl", false, "status"));
  EXPECT_NE(entries(object).find("ctl:Apply:{\"f:status\":{\"f:phase\":{}}}"), std::string::npos);
  EXPECT_EQ(text(object.at("status")), R"({"phase":"Ready"})");
}

// kubectl moving over from client-side apply may change what its annotation shows as its own.
TEST(ServerSideApply, KubectlUpgradesFromClientSide) {
  const resource::Kind kind = widget_kind();
  Json object = config(R"("spec":{"size":1,"color":"red"})");
  object.at("metadata").as_object()["annotations"] = JsonObject{
      {"kubectl.kubernetes.io/last-applied-configuration",
       R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}})"}};
  track_create(kind, object, {"kubectl-client-side-apply", "", "2024-05-01T12:00:00Z"});
  auto result = server_side_apply(kind, &object, config(R"("spec":{"size":2})"), as("kubectl"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(spec(*result), R"({"size":2,"color":"red"})");
  const std::string_view annotation = result->at("metadata")
                                          .at("annotations")
                                          .at("kubectl.kubernetes.io/last-applied-configuration")
                                          .as_string();
  EXPECT_NE(annotation.find("\"size\":2"), std::string_view::npos);
  auto refused =
      server_side_apply(kind, &object, config(R"("spec":{"color":"blue"})"), as("kubectl"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 409);
}

// A configuration of another type, with managedFields or with repeated keys is a bad request.
TEST(ServerSideApply, RefusesBadConfigurations) {
  const resource::Kind kind = widget_kind();
  for (
      const char* bad :
      {R"([])", R"({"spec":{}})", R"({"apiVersion":"demo.example.com/v2","kind":"Widget"})",
       R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":80})",
       R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"managedFields":[]}})",
       R"({"apiVersion":"demo.example.com/v1","kind":"Widget","spec":{"tags":["x","x"]}})",
       R"({"apiVersion":"demo.example.com/v1","kind":"Widget","spec":{"ports":[{"name":"x"},{"port":1},{"port":1}]}})"}) {
    const auto result = server_side_apply(kind, nullptr, json(bad), as("alice"));
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().code, 400) << bad;
  }
  const Json owned = json(
      R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"managedFields":[{}]}})");
  EXPECT_EQ(server_side_apply(kind, nullptr, owned, as("alice")).error().message,
            "metadata.managedFields must be nil");
}

// Where items only the live list has end up.
TEST(MergeObjects, OrdersLists) {
  const resource::Kind kind = widget_kind();
  struct Case {
    std::string live;
    std::string config;
    std::string merged;
  };
  for (const Case& c : std::vector<Case>{
           {R"(["a","b"])", R"(["c"])", R"(["a","b","c"])"},
           {R"(["a","x"])", R"(["b","a"])", R"(["b","a","x"])"},
           {R"(["x","a"])", R"(["b","a"])", R"(["x","b","a"])"},
           {R"(["a","x","c"])", R"(["c","a"])", R"(["x","c","a"])"},
           {R"(["a","b","c"])", R"(["c","b","a"])", R"(["c","b","a"])"},
           {R"([])", R"(["a"])", R"(["a"])"},
       }) {
    const auto merged = merge_objects(kind.schema, json(R"({"spec":{"tags":)" + c.live + "}}"),
                                      json(R"({"spec":{"tags":)" + c.config + "}}"));
    ASSERT_TRUE(merged);
    EXPECT_EQ(text(merged->at("spec").at("tags")), c.merged) << c.live << c.config;
  }
}

}  // namespace
}  // namespace fairlead::apimachinery
