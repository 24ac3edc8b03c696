#include "api/apimachinery/apply/managed_fields.h"

#include <gtest/gtest.h>

#include "api/apimachinery/apply/typed_walk.h"
#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

const Writer kAlice{"alice", "", "2024-05-01T12:00:00Z"};
const Writer kBob{"bob", "", "2024-05-01T12:01:00Z"};

std::string managed(const Json& object) {
  const Json* list = wire::find(object, "metadata.managedFields");
  return list ? text(*list) : "none";
}

// fieldsV1 of the entry of `manager`, or "none".
std::string fields_of(const Json& object, std::string_view manager) {
  const Json* list = wire::find(object, "metadata.managedFields");
  if (!list) return "none";
  for (const Json& entry : list->get_array()) {
    if (wire::find_string(entry, "manager") == manager) return text(entry.at("fieldsV1"));
  }
  return "none";
}

Json widget(std::string_view spec) {
  return json(
      R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"u","resourceVersion":"1"},"spec":)" +
      std::string(spec) + "}");
}

// The text form survives parsing, in one order and one spelling.
TEST(FieldSet, ParsesAndEncodes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", R"({})"},
      {R"({"f:spec":{".":{},"f:b":{},"f:a":{}}})", R"({"f:spec":{".":{},"f:a":{},"f:b":{}}})"},
      {R"({"f:l":{"v:\"x\"":{},"k:{ \"b\":2, \"a\":\"x\" }":{".":{}}}})",
       R"({"f:l":{"k:{\"a\":\"x\",\"b\":2}":{},"v:\"x\"":{}}})"},
      {R"({"f:l":{"i:3":{}}})", R"({"f:l":{"i:3":{}}})"},
  };
  for (const auto& [input, output] : cases) {
    const auto set = FieldSet::parse(json(input));
    ASSERT_TRUE(set) << input;
    EXPECT_EQ(text(set->encode()), output);
  }
  for (const char* bad : {R"([])", R"({"x:a":{}})", R"({"f":{}})", R"({"k:[]":{}})",
                          R"({"i:x":{}})", R"({"v:{":{}})", R"({"f:a":1})"}) {
    EXPECT_FALSE(FieldSet::parse(json(bad))) << bad;
  }
}

// Union, intersection and the two differences, on one pair of sets.
TEST(FieldSet, Combines) {
  const FieldSet a = *FieldSet::parse(json(R"({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{}})"));
  const FieldSet b = *FieldSet::parse(json(R"({"f:a":{"f:y":{},"f:z":{}},"f:b":{},"f:c":{}})"));
  EXPECT_EQ(text(a.unite(b).encode()),
            R"({"f:a":{".":{},"f:x":{},"f:y":{},"f:z":{}},"f:b":{},"f:c":{}})");
  EXPECT_EQ(text(a.intersect(b).encode()), R"({"f:a":{"f:y":{}},"f:b":{}})");
  EXPECT_EQ(text(a.subtract(b).encode()), R"({"f:a":{".":{},"f:x":{}}})");
  EXPECT_EQ(text(b.subtract_below(a).encode()), R"({"f:c":{}})");
  EXPECT_TRUE(a.contains({"f:a", "f:x"}));
  EXPECT_FALSE(b.contains({"f:a"}));
}

// Paths read as in conflict messages.
TEST(FieldSet, WritesPathsForPeople) {
  FieldSet set;
  set.insert({"f:spec", "f:ports", R"(k:{"port":80,"protocol":"TCP"})", "f:name"});
  set.insert({"f:spec", "f:tags", R"(v:"x")"});
  set.insert({"f:spec", "f:size"});
  set.insert({"f:l", "i:2"});
  EXPECT_EQ(set.paths(), (std::vector<std::string>{".l[2]", ".spec.size",
                                                   ".spec.ports[port=80,protocol=\"TCP\"].name",
                                                   ".spec.tags[=\"x\"]"}));
}

// A create gives the writer everything but what belongs to the server.
TEST(ManagedFields, CreateOwnsEverything) {
  Json object = widget(
      R"({"size":1,"tags":["x"],"ports":[{"port":80,"name":"web"}],"steps":["a"],"data":{"k":"v"},"box":{"w":1}})");
  object.at("metadata").as_object()["labels"] = JsonObject{{"app", "a"}};
  track_create(widget_kind(), object, kAlice);
  EXPECT_EQ(
      managed(object),
      R"([{"manager":"alice","operation":"Update","apiVersion":"demo.example.com/v1",)"
      R"("time":"2024-05-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{)"
      R"("f:metadata":{"f:labels":{".":{},"f:app":{}}},)"
      R"("f:spec":{".":{},"f:box":{},"f:data":{".":{},"f:k":{}},)"
      R"("f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}},)"
      R"("f:size":{},"f:steps":{},"f:tags":{".":{},"v:\"x\"":{}}}}}])");
}

// Built-in kinds have their structs from the start, so nobody owns `spec` itself.
TEST(ManagedFields, BuiltInStructsHaveNoOwner) {
  Json object = json(R"({"metadata":{"name":"g"},"spec":{"list":["a"]}})");
  track_create(gadget_kind(), object, kAlice);
  EXPECT_EQ(fields_of(object, "alice"), R"({"f:spec":{"f:list":{}}})");
}

// Nor does whoever is the first to write into one.
TEST(ManagedFields, BuiltInStructsHaveNoOwnerAfterUpdates) {
  Json object = json(R"({"metadata":{"name":"g","labels":{"a":"b"}}})");
  track_create(gadget_kind(), object, kAlice);
  Json updated = object;
  updated.as_object()["spec"] = json(R"({"list":["a"]})");
  track_update(gadget_kind(), object, updated, kBob);
  EXPECT_EQ(fields_of(updated, "bob"), R"({"f:spec":{"f:list":{}}})");
  EXPECT_EQ(fields_of(updated, "alice"), R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}}})");
}

// A status written through the main endpoint is not tracked there; through /status nothing else is.
TEST(ManagedFields, StatusIsTrackedBySubresource) {
  const resource::Kind kind = widget_kind();
  Json object = widget(R"({"size":1})");
  object.as_object()["status"] = JsonObject{{"phase", "New"}};
  track_create(kind, object, kAlice);
  EXPECT_EQ(fields_of(object, "alice"), R"({"f:spec":{".":{},"f:size":{}}})");

  Json updated = object;
  updated.at("status").as_object()["phase"] = "Ready";
  track_update(kind, object, updated, {"bob", "status", kBob.now});
  EXPECT_EQ(fields_of(updated, "bob"), R"({"f:status":{"f:phase":{}}})");
  EXPECT_NE(managed(updated).find(R"("subresource":"status")"), std::string::npos);
}

// One rule, whether a member or a set of fields is asked about: status is /status' alone, and what
// the server keeps is nobody's.
TEST(ManagedFields, TrackableMembers) {
  struct {
    const char* subresource;
    const char* member;
    bool with_status;  // in a kind that has one
    bool without;
  } const cases[] = {{"", "spec", true, true},
                     {"", "status", false, true},
                     {"", "extendedMetadata", false, false},
                     {"status", "spec", false, true},
                     {"status", "status", true, true},
                     {"status", "extendedMetadata", false, false}};
  for (const bool has_status : {true, false}) {
    resource::Kind kind = widget_kind();
    kind.has_status = has_status;
    for (const auto& one : cases) {
      SCOPED_TRACE(std::string(one.subresource) + " " + one.member);
      const bool expected = has_status ? one.with_status : one.without;
      EXPECT_EQ(is_trackable(kind, one.subresource, one.member), expected);
      FieldSet fields;
      fields.insert({std::string("f:") + one.member, "f:below"});
      const FieldSet whole = fields;
      keep_trackable(kind, one.subresource, fields);
      EXPECT_EQ(fields, expected ? whole : FieldSet());
    }
  }
}

// Whoever changes a field takes it from everyone else; a removed field belongs to nobody.
TEST(ManagedFields, UpdateMovesOwnership) {
  const resource::Kind kind = widget_kind();
  Json created = widget(R"({"size":1,"color":"red","tags":["x","y"]})");
  track_create(kind, created, kAlice);
  Json updated = created;
  updated.as_object()["spec"] = json(R"({"size":2,"tags":["x","z"]})");
  track_update(kind, created, updated, kBob);
  EXPECT_EQ(fields_of(updated, "alice"), R"({"f:spec":{".":{},"f:tags":{".":{},"v:\"x\"":{}}}})");
  EXPECT_EQ(fields_of(updated, "bob"), R"({"f:spec":{"f:size":{},"f:tags":{"v:\"z\"":{}}}})");
}

// The same content again changes nothing, whoever sends it and whatever managedFields it carries.
TEST(ManagedFields, NoChangeKeepsEntriesAndTimes) {
  const resource::Kind kind = widget_kind();
  Json created = widget(R"({"size":1})");
  track_create(kind, created, kAlice);
  for (const Writer& writer : {kBob, Writer{"alice", "", "2030-01-01T00:00:00Z"}}) {
    Json same = created;
    track_update(kind, created, same, writer);
    EXPECT_EQ(text(same), text(created));
    Json without = created;
    without.at("metadata").as_object().erase("managedFields");
    track_update(kind, created, without, writer);
    EXPECT_TRUE(same_but_for_managed_times(created, without));
    EXPECT_EQ(managed(without), managed(created));
  }
}

// A client forgets the owners with [] or [{}]; after that nothing is tracked until an apply.
TEST(ManagedFields, ResetByClient) {
  const resource::Kind kind = widget_kind();
  Json created = widget(R"({"size":1})");
  track_create(kind, created, kAlice);
  for (const char* reset : {"[]", "[{}]"}) {
    Json updated = created;
    updated.at("metadata").as_object()["managedFields"] = json(reset);
    track_update(kind, created, updated, kBob);
    EXPECT_EQ(managed(updated), "none");
  }
  Json broken = created;
  broken.at("metadata").as_object()["managedFields"] = json(R"([{"manager":"x"}])");
  track_update(kind, created, broken, kBob);
  EXPECT_EQ(managed(broken), managed(created));
}

// An eleventh updater merges the oldest two into ancient-changes.
TEST(ManagedFields, OldUpdatersMerge) {
  const resource::Kind kind = widget_kind();
  Json object = widget(R"({"size":0,"data":{}})");
  track_create(kind, object, {"m-first", "", "2024-05-01T12:00:00Z"});
  for (int i = 0; i < 12; ++i) {
    Json next = object;
    next.at("spec").at("data").as_object()["k" + std::to_string(i)] = "v";
    track_update(kind, object, next,
                 {"m" + std::to_string(i), "", "2024-05-01T13:00:" + std::to_string(10 + i) + "Z"});
    object = next;
  }
  const Json* list = wire::find(object, "metadata.managedFields");
  EXPECT_EQ(list->get_array().size(), kMaxUpdateManagers);
  EXPECT_EQ(wire::find_string(list->get_array()[0], "manager"), "ancient-changes");
  EXPECT_EQ(fields_of(object, "ancient-changes"),
            R"({"f:spec":{".":{},"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{}},"f:size":{}}})");
}

// A list whose items share a key is owned item by item no longer, and does not confuse anything.
TEST(ManagedFields, ToleratesDuplicateItems) {
  const resource::Kind kind = widget_kind();
  Json created =
      widget(R"({"size":1,"tags":["x","x"],"ports":[{"port":1},{"port":1},{"name":"no key"}]})");
  track_create(kind, created, kAlice);
  Json updated = created;
  updated.as_object()["spec"] = json(R"({"size":1,"tags":["x"],"ports":[{"port":1,"name":"n"}]})");
  track_update(kind, created, updated, kBob);
  EXPECT_NE(fields_of(updated, "bob").find("f:name"), std::string::npos);
}

// equal_values compares numbers by value, objects without order, arrays with it.
TEST(EqualValues, ComparesByMeaning) {
  EXPECT_TRUE(equal_values(json("1"), json("1.0")));
  EXPECT_TRUE(equal_values(Json(std::uint64_t{7}), Json(std::int64_t{7})));
  EXPECT_FALSE(equal_values(Json(std::uint64_t{18446744073709551615ull}), Json(std::int64_t{-1})));
  EXPECT_TRUE(equal_values(json(R"({"a":1,"b":[1,2]})"), json(R"({"b":[1,2],"a":1})")));
  EXPECT_FALSE(equal_values(json("[1,2]"), json("[2,1]")));
  EXPECT_FALSE(equal_values(json("null"), json("0")));
}

}  // namespace
}  // namespace fairlead::apimachinery
