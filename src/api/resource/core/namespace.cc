// Namespace: a scope for names. Deleting one deletes what is in it; until then it is Terminating
// and held by the entry "kubernetes" in spec.finalizers.
#include <algorithm>

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {
namespace {

constexpr std::string_view kFinalizer = "kubernetes";
constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

void hold_until_empty(JsonObject& members) {
  Json& spec = members["spec"];
  if (spec.is_null()) spec = JsonObject();
  if (!spec.is_object()) return;
  Json& finalizers = spec.get_object()["finalizers"];
  if (finalizers.is_null()) finalizers = JsonArray();
  JsonArray* list = finalizers.if_array();
  if (list && std::ranges::find(*list, Json(kFinalizer)) == list->end()) {
    list->push_back(Json(kFinalizer));
  }
}

// Every namespace can be selected by its name.
void label_with_name(JsonObject& members) {
  Json* metadata = members.if_contains("metadata");
  const Json* name = metadata && metadata->is_object() ? wire::find(*metadata, "name") : nullptr;
  if (!name || !name->is_string()) return;
  const Json text = *name;
  Json& labels = metadata->get_object()["labels"];
  if (labels.is_null()) labels = JsonObject();
  if (labels.is_object()) labels.get_object()[kNameLabel] = text;
}

void prepare(Json& object, const Json* old, Write write, Moment) {
  JsonObject* members = object.if_object();
  if (!members) return;
  label_with_name(*members);
  if (write == Write::create) {
    hold_until_empty(*members);
    (*members)["status"] = JsonObject{{"phase", "Active"}};
    return;
  }
  if (write != Write::finalize) keep_old_member(object, old, "spec");
  if (write != Write::update_status) keep_old_member(object, old, "status");
  if (!wire::find_string(object, "metadata.deletionTimestamp").empty()) {
    Json& status = (*members)["status"];
    if (status.is_null()) status = JsonObject();
    if (status.is_object()) status.get_object()["phase"] = "Terminating";
  }
}

}  // namespace

Kind namespace_kind() {
  Kind kind = core_kind("", "Namespace", "namespaces", "namespace");
  kind.short_names = {"ns"};
  kind.namespaced = false;
  kind.name_rule = NameRule::dns_label;
  kind.has_status = true;
  kind.schema = core_object(
      "A Namespace is a scope for the names of objects.",
      {field("spec", open_object("How the namespace behaves.",
                                 {field("finalizers", string_list("Who must act before the "
                                                                  "namespace may go away."))})),
       field("status",
             open_object("What became of the namespace.",
                         {field("phase", string("Where in its life the namespace is.")
                                             .one_of({"Active", "Terminating"})),
                          field("conditions", conditions("What holds up termination."))}))});
  kind.selectable = {"status.phase"};
  kind.columns = {
      name_column(),
      column("Status", "string", "The phase of the namespace.", text_at("status.phase")),
      age_column()};
  kind.prepare = prepare;
  return kind;
}

}  // namespace fairlead::resource
