#include "api/apiserver/write_plan.h"

#include <gtest/gtest.h>

#include "api/resource/test_kinds.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::PatchType;

const resource::Kind& parcels() {
  return *resource::test_catalog().find("fairlead.dev", "v1alpha1", "parcels");
}
const resource::Kind& moorings() {
  return *resource::test_catalog().find("fairlead.dev", "v1alpha1", "moorings");
}
const resource::Kind& config_maps() {
  return *resource::test_catalog().find("", "v1", "configmaps");
}
const resource::Kind& namespaces() {
  return *resource::test_catalog().find("", "v1", "namespaces");
}

Json parse(std::string_view text) { return wire::parse_json(text).value().value; }

WriteContext context_for(const resource::Kind& kind, std::string name = "") {
  return {.kind = &kind,
          .namespace_name = kind.namespaced ? "default" : "",
          .name = std::move(name),
          .options = {.field_manager = "test"},
          .now = resource::Moment(std::chrono::seconds(1'700'000'000)),
          .random = [state = std::uint64_t{7}]() mutable { return state = state * 3 + 1; }};
}

constexpr std::string_view kParcel =
    R"({"metadata":{"name":"a","uid":"forged","generation":9},"spec":{"number":7,"text":"x"}})";

// The object as it would be stored, with the version that its first commit gives it.
Json stored_parcel() {
  Json object = plan_create(context_for(parcels()), parse(kParcel)).value().object;
  object.at("metadata").get_object()["resourceVersion"] = "1024";
  return object;
}

// Unknown fields and values of a wrong type are told together, so that one correction is enough.
TEST(CheckStrictness, TellsEverythingThatIsWrong) {
  WriteContext context = context_for(parcels());
  context.options.validation = apimachinery::FieldValidation::strict;
  Json object = parse(R"({"metadata":{"name":"a"},"spec":{"number":"x","text":"x","nope":1}})");
  std::vector<std::string> warnings;
  const Answer<> refused = check_strictness(context, object, {}, warnings);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("unknown field \"spec.nope\""), std::string::npos);
  EXPECT_NE(refused.error().message.find("spec.number in body must be of type integer"),
            std::string::npos)
      << refused.error().message;
}

// What the server owns is set by the server, whatever the client sent.
TEST(PlanCreate, SetsWhatTheServerOwns) {
  const Change change = plan_create(context_for(parcels()), parse(kParcel)).value();
  EXPECT_EQ(change.kind, Change::Kind::put);
  EXPECT_TRUE(change.creates);
  EXPECT_NE(wire::find_string(change.object, "metadata.uid"), "forged");
  EXPECT_EQ(wire::find_string(change.object, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(*wire::find(change.object, "metadata.generation"), Json(1));
  EXPECT_EQ(wire::find_string(change.object, "metadata.namespace"), "default");
  EXPECT_EQ(wire::find_string(change.object, "apiVersion"), "fairlead.dev/v1alpha1");
  EXPECT_TRUE(wire::find(change.object, "metadata.managedFields"));
}

// Wrong kind, wrong namespace, a version on a new object: each its own refusal.
TEST(PlanCreate, RefusesWhatCannotBe) {
  const auto code = [](std::string_view text) {
    return plan_create(context_for(parcels()), parse(text)).error().code;
  };
  EXPECT_EQ(code("[]"), 400);
  EXPECT_EQ(code(R"({"kind":"Pod"})"), 400);
  EXPECT_EQ(code(R"({"metadata":{"name":"a","namespace":"other"}})"), 400);
  EXPECT_EQ(code(R"({"metadata":{"name":"a","resourceVersion":"5"}})"), 400);
  EXPECT_EQ(code(R"({"metadata":[]})"), 422);
  EXPECT_EQ(code(R"({"metadata":{"name":"a"},"spec":{"number":0}})"), 422);
}

// generateName makes a name that begins with it.
TEST(PlanCreate, GeneratesNames) {
  const Change change =
      plan_create(context_for(config_maps()), parse(R"({"metadata":{"generateName":"x-"}})"))
          .value();
  const std::string_view name = wire::find_string(change.object, "metadata.name");
  EXPECT_TRUE(name.starts_with("x-"));
  EXPECT_EQ(name.size(), 7u);
}

// An update needs the version it was made from, unless the kind says otherwise.
TEST(PlanUpdate, VersionsArePreconditions) {
  const Json live = stored_parcel();
  const WriteContext context = context_for(parcels(), "a");
  Json changed = live;
  changed.at("metadata").get_object()["labels"] = JsonObject{{"x", "y"}};
  EXPECT_EQ(plan_update(context, &live, changed).value().kind, Change::Kind::put);
  changed.at("metadata").get_object()["resourceVersion"] = "1";
  EXPECT_EQ(plan_update(context, &live, changed).error().code, 409);
  changed.at("metadata").get_object().erase("resourceVersion");
  EXPECT_EQ(plan_update(context, &live, changed).error().code, 422);
  changed.at("metadata").get_object()["uid"] = "someone-else";
  EXPECT_EQ(plan_update(context, &live, changed).error().code, 409);
  EXPECT_EQ(plan_update(context, nullptr, live).error().code, 404);
}

// Writing what is already there writes nothing.
TEST(PlanUpdate, NothingChangedIsNothingWritten) {
  const Json live = stored_parcel();
  EXPECT_EQ(plan_update(context_for(parcels(), "a"), &live, live).value().kind, Change::Kind::none);
}

// The main endpoint leaves status alone, the status endpoint everything else.
TEST(PlanUpdate, EndpointsWriteTheirPart) {
  const Json live = stored_parcel();
  Json both = live;
  both.get_object()["status"] = JsonObject{{"checked", true}};
  both.at("metadata").get_object()["labels"] = JsonObject{{"x", "y"}};
  const Change main = plan_update(context_for(parcels(), "a"), &live, both).value();
  EXPECT_EQ(wire::find(main.object, "status.checked"), nullptr);
  EXPECT_EQ(wire::find_string(main.object, "metadata.labels.x"), "y");
  WriteContext status_context = context_for(parcels(), "a");
  status_context.subresource = "status";
  const Change status = plan_update(status_context, &live, both).value();
  EXPECT_EQ(*wire::find(status.object, "status.checked"), Json(true));
  EXPECT_EQ(wire::find(status.object, "metadata.labels.x"), nullptr);
  EXPECT_EQ(*wire::find(status.object, "metadata.generation"), Json(1));
}

// An untracked write leaves no trace in managedFields, and cannot forge any.
TEST(PlanUpdate, UntrackedWritesLeaveManagedFieldsAlone) {
  const Json live = stored_parcel();
  WriteContext context = context_for(parcels(), "a");
  context.subresource = "status";
  context.tracked = false;
  Json told = live;
  told.get_object()["status"] = JsonObject{{"checked", true}};
  for (const Json& forged : {Json(JsonArray{}), Json(nullptr)}) {
    told.at("metadata").get_object()["managedFields"] = forged;
    const Change change = plan_update(context, &live, told).value();
    EXPECT_EQ(*wire::find(change.object, "status.checked"), Json(true));
    EXPECT_EQ(*wire::find(change.object, "metadata.managedFields"),
              *wire::find(live, "metadata.managedFields"));
  }
  std::vector<std::string> warnings;
  const Patch patch{PatchType::merge_patch, parse(R"({"status":{"checked":true}})")};
  EXPECT_EQ(*wire::find(plan_patch(context, &live, patch, warnings).value().object,
                        "metadata.managedFields"),
            *wire::find(live, "metadata.managedFields"));

  context = context_for(parcels());
  context.tracked = false;
  Json made = parse(kParcel);
  made.at("metadata").get_object()["managedFields"] = *wire::find(live, "metadata.managedFields");
  EXPECT_EQ(wire::find(plan_create(context, made).value().object, "metadata.managedFields"),
            nullptr);
}

// Nobody else writes what nodes tell often.
TEST(IsTracked, AllButWhatNodesTell) {
  const identity::User node = identity::node_user("n1");
  identity::User user;
  user.name = "alice";
  EXPECT_FALSE(is_tracked(node, moorings()));
  EXPECT_FALSE(
      is_tracked(node, *resource::test_catalog().find("coordination.k8s.io", "v1", "leases")));
  EXPECT_TRUE(is_tracked(node, namespaces()));
  EXPECT_TRUE(is_tracked(node, parcels()));
  EXPECT_TRUE(is_tracked(user, moorings()));
  EXPECT_TRUE(is_tracked(user, parcels()));
}

// Taking away the last finalizer of an object that is being deleted deletes it.
TEST(PlanUpdate, TheLastFinalizerEndsTheObject) {
  Json live = stored_parcel();
  JsonObject& metadata = live.at("metadata").get_object();
  metadata["finalizers"] = JsonArray{Json("example.com/wait")};
  metadata["deletionTimestamp"] = "2023-11-14T22:13:20Z";
  Json released = live;
  released.at("metadata").get_object().erase("finalizers");
  const Change change = plan_update(context_for(parcels(), "a"), &live, released).value();
  EXPECT_EQ(change.kind, Change::Kind::erase);
  EXPECT_EQ(wire::find_string(change.object, "metadata.resourceVersion"), "1024");
}

// A patch of a missing object is a 404, except apply, which makes it.
TEST(PlanPatch, ApplyCreates) {
  const WriteContext context = context_for(parcels(), "a");
  std::vector<std::string> warnings;
  EXPECT_EQ(
      plan_patch(context, nullptr, {PatchType::merge_patch, parse("{}")}, warnings).error().code,
      404);
  const Json config =
      parse(R"({"apiVersion":"fairlead.dev/v1alpha1","kind":"Parcel","metadata":{"name":"a"},)"
            R"("spec":{"number":7,"text":"x"}})");
  const Change change = plan_patch(context, nullptr, {PatchType::apply, config}, warnings).value();
  EXPECT_TRUE(change.creates);
}

// Metadata that is no object is refused, whatever is to be made of it.
TEST(PlanPatch, MetadataIsAnObject) {
  const Json live = stored_parcel();
  const WriteContext context = context_for(parcels(), "a");
  std::vector<std::string> warnings;
  for (const Json& metadata : {Json(80), Json("a"), Json(JsonArray{}), Json(true)}) {
    const Json config = JsonObject{{"apiVersion", "fairlead.dev/v1alpha1"},
                                   {"kind", "Parcel"},
                                   {"metadata", metadata},
                                   {"spec", JsonObject{{"number", 7}}}};
    for (const Json* there : {static_cast<const Json*>(nullptr), &live}) {
      for (const PatchType type :
           {PatchType::apply, PatchType::merge_patch, PatchType::strategic_merge}) {
        const auto planned = plan_patch(context, there, {type, config}, warnings);
        ASSERT_FALSE(planned) << wire::encode_json(metadata);
        EXPECT_LT(planned.error().code, 500);
      }
    }
  }
}

// A patch cannot make an object nonsensical.
TEST(PlanPatch, TheResultIsChecked) {
  const Json live = stored_parcel();
  const WriteContext context = context_for(parcels(), "a");
  std::vector<std::string> warnings;
  const auto code = [&](PatchType type, std::string_view text) {
    return plan_patch(context, &live, {type, parse(text)}, warnings).error().code;
  };
  EXPECT_EQ(code(PatchType::merge_patch, R"({"spec":{"number":8}})"), 422);
  EXPECT_EQ(code(PatchType::merge_patch, R"({"metadata":null})"), 422);
  EXPECT_EQ(code(PatchType::merge_patch, R"({"metadata":{"resourceVersion":"1"}})"), 409);
  EXPECT_EQ(code(PatchType::json_patch, R"([{"op":"remove","path":"/metadata"}])"), 422);
  EXPECT_EQ(code(PatchType::json_patch, R"([{"op":"replace","path":"","value":7}])"), 422);
  EXPECT_EQ(code(PatchType::merge_patch, "[]"), 400);
}

// Without finalizers a delete erases; with them, or with a cascade that needs one, it marks.
TEST(PlanDelete, ErasesOrMarks) {
  const Json live = stored_parcel();
  const resource::Moment now(std::chrono::seconds(1'700'000'000));
  EXPECT_EQ(plan_delete(parcels(), live, {}, now).value().kind, Change::Kind::erase);
  const Change marked =
      plan_delete(parcels(), live, {.propagation = apimachinery::Propagation::foreground}, now)
          .value();
  EXPECT_EQ(marked.kind, Change::Kind::put);
  EXPECT_EQ(wire::find_string(marked.object, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(*wire::find(marked.object, "metadata.generation"), Json(2));
  EXPECT_EQ(plan_delete(parcels(), live, {.uid = "other"}, now).error().code, 409);
  EXPECT_EQ(plan_delete(parcels(), live, {.resource_version = "1"}, now).error().code, 409);
}

// A namespace stays, terminating, until its content is gone.
TEST(PlanDelete, NamespacesTerminate) {
  const Json live =
      plan_create(context_for(namespaces()), parse(R"({"metadata":{"name":"n"}})")).value().object;
  const Change change = plan_delete(namespaces(), live, {}, resource::Moment{}).value();
  EXPECT_EQ(change.kind, Change::Kind::put);
  EXPECT_EQ(wire::find_string(change.object, "status.phase"), "Terminating");
}

}  // namespace
}  // namespace fairlead::apiserver
