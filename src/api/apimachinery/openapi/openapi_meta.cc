#include "api/apimachinery/openapi/openapi_meta.h"

#include <set>

#include "api/resource/metadata.h"
#include "api/resource/schema/schema_builder.h"

namespace fairlead::apimachinery {
namespace {

using resource::boolean;
using resource::field;
using resource::int32;
using resource::int64;
using resource::list;
using resource::object;
using resource::Schema;
using resource::string;
using resource::string_list;

Schema list_meta_schema() {
  return object("ListMeta describes a list: where it was read and where it continues.",
                {field("continue", string("Where the next page starts; empty on the last one.")),
                 field("remainingItemCount",
                       int64("How many items follow this page, when the server knows.")),
                 field("resourceVersion", string("The version of the store the list was read at.")),
                 field("selfLink", string("Deprecated; not filled."))});
}

Schema status_cause_schema() {
  return object("StatusCause says more about one cause of a failure.",
                {field("field", string("The field that caused it, as a path.")),
                 field("message", string("A description for people.")),
                 field("reason", string("A word for machines."))});
}

Schema status_details_schema() {
  return object(
      "StatusDetails says what a Status is about.",
      {field("causes", list(status_cause_schema(), "The single causes.")),
       field("group", string("Group of the resource.")), field("kind", string("Kind or resource.")),
       field("name", string("Name.")), field("retryAfterSeconds", int32("When to try again.")),
       field("uid", string("UID of the resource."))});
}

Schema status_schema() {
  return object(
      "Status is what a request is answered with when there is no object to answer with.",
      {field("apiVersion", string("Version of the schema of this object.")),
       field("code", int32("The HTTP status.")), field("details", status_details_schema()),
       field("kind", string("Kind of this object.")),
       field("message", string("A description for people.")), field("metadata", list_meta_schema()),
       field("reason", string("A word for machines.")),
       field("status", string("Success or Failure."))});
}

Schema delete_options_schema() {
  const Schema preconditions =
      object("Preconditions must hold for the deletion to take place.",
             {field("resourceVersion", string("The version the object must have.")),
              field("uid", string("The UID the object must have."))});
  return object("DeleteOptions may be given when deleting an object.",
                {field("apiVersion", string("Version of the schema of this object.")),
                 field("dryRun", string_list("All: go through every step but change nothing.")),
                 field("gracePeriodSeconds", int64("Seconds before the object is deleted.")),
                 field("kind", string("Kind of this object.")),
                 field("orphanDependents", boolean("Deprecated: use propagationPolicy.")),
                 field("preconditions", preconditions),
                 field("propagationPolicy",
                       string("What happens to dependents: Orphan, Background or Foreground."))});
}

JsonArray registered_everywhere(const std::vector<const resource::Kind*>& kinds,
                                std::string_view name) {
  std::set<std::pair<std::string, std::string>> versions = {{"", "v1"}};
  for (const resource::Kind* kind : kinds) versions.emplace(kind->group, kind->version);
  JsonArray list;
  for (const auto& [group, version] : versions) {
    list.push_back(JsonObject{{"group", group}, {"kind", name}, {"version", version}});
  }
  return list;
}

JsonObject int_or_string_model(const ModelOptions& options) {
  JsonObject model;
  model["description"] = "A number or a string.";
  model["format"] = "int-or-string";
  if (options.version3) {
    model["oneOf"] = JsonArray{JsonObject{{"type", "integer"}}, JsonObject{{"type", "string"}}};
  } else {
    model["type"] = "string";
  }
  return model;
}

}  // namespace

std::map<std::string, JsonObject> meta_models(const std::vector<const resource::Kind*>& kinds,
                                              const ModelOptions& options) {
  std::map<std::string, JsonObject> models;
  const auto add = [&](std::string_view name, const Schema& schema) -> JsonObject& {
    return models[std::string(name)] = schema_json(schema, options);
  };
  add(kObjectMetaModel, resource::object_meta_schema());
  add(kListMetaModel, list_meta_schema());
  add(kPatchModel,
      object("Patch is a change to an object, in the form its content type says.", {}));
  add(kStatusModel, status_schema())["x-kubernetes-group-version-kind"] =
      JsonArray{JsonObject{{"group", ""}, {"kind", "Status"}, {"version", "v1"}}};
  add(kDeleteOptionsModel, delete_options_schema())["x-kubernetes-group-version-kind"] =
      registered_everywhere(kinds, "DeleteOptions");
  models[std::string(kIntOrStringModel)] = int_or_string_model(options);
  return models;
}

}  // namespace fairlead::apimachinery
