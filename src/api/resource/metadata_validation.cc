// The rules for metadata that every kind shares, in Kubernetes' words.
#include <algorithm>
#include <set>

#include "api/resource/columns.h"
#include "api/resource/name_rules.h"
#include "api/resource/schema/validation.h"

namespace fairlead::resource {
namespace {

constexpr std::size_t kMaxAnnotationBytes = 256 << 10;

std::string name_problem(NameRule rule, std::string_view name) {
  switch (rule) {
    case NameRule::dns_subdomain:
      return dns_subdomain_problem(name);
    case NameRule::dns_label:
      return dns_label_problem(name);
    case NameRule::dns_1035_label:
      return dns_1035_label_problem(name);
  }
  return "";
}

void check_text(std::string_view field, std::string_view text, std::string problem,
                FieldErrors& errors) {
  if (!problem.empty()) {
    errors.push_back(invalid(std::string(field), Json(text), std::move(problem)));
  }
}

void check_names(const Kind& kind, const Json& metadata, FieldErrors& errors) {
  const std::string_view base = wire::find_string(metadata, "generateName");
  if (!base.empty()) {
    // What follows a trailing dash is added by the server.
    std::string prefix(base);
    if (prefix.size() > 1 && prefix.back() == '-') prefix.back() = 'a';
    check_text("metadata.generateName", base, name_problem(kind.name_rule, prefix), errors);
  }
  const std::string_view name = wire::find_string(metadata, "name");
  if (name.empty()) {
    errors.push_back(required("metadata.name", "name or generateName is required"));
  } else {
    check_text("metadata.name", name, name_problem(kind.name_rule, name), errors);
  }
  const std::string_view space = wire::find_string(metadata, "namespace");
  if (!kind.namespaced) {
    if (!space.empty())
      errors.push_back(forbidden("metadata.namespace", "not allowed on this type"));
  } else if (space.empty()) {
    errors.push_back(required("metadata.namespace"));
  } else {
    check_text("metadata.namespace", space, dns_label_problem(space), errors);
  }
}

void check_labels(const Json& metadata, FieldErrors& errors) {
  for (const auto& label : members_at(metadata, "labels")) {
    check_text("metadata.labels", label.key(), qualified_name_problem(label.key()), errors);
    if (const boost::json::string* value = label.value().if_string()) {
      check_text("metadata.labels", *value, label_value_problem(*value), errors);
    }
  }
}

void check_annotations(const Json& metadata, FieldErrors& errors) {
  std::size_t bytes = 0;
  for (const auto& annotation : members_at(metadata, "annotations")) {
    // Upper case was allowed in prefixes once, and still is.
    std::string key(annotation.key());
    std::ranges::transform(key, key.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    });
    check_text("metadata.annotations", annotation.key(), qualified_name_problem(key), errors);
    bytes += key.size();
    if (const boost::json::string* value = annotation.value().if_string()) bytes += value->size();
  }
  if (bytes > kMaxAnnotationBytes) {
    errors.push_back(too_long("metadata.annotations", kMaxAnnotationBytes));
  }
}

void check_finalizers(const Json& metadata, FieldErrors& errors) {
  bool orphan = false;
  bool foreground = false;
  const JsonArray& finalizers = items_at(metadata, "finalizers");
  for (const Json& finalizer : finalizers) {
    const boost::json::string* name = finalizer.if_string();
    if (!name) continue;
    check_text("metadata.finalizers", *name, qualified_name_problem(*name), errors);
    orphan |= *name == "orphan";
    foreground |= *name == "foregroundDeletion";
  }
  if (orphan && foreground) {
    errors.push_back(invalid("metadata.finalizers", finalizers,
                             "finalizer orphan and foregroundDeletion cannot be both set"));
  }
}

void check_owner(const Json& owner, const std::string& field, FieldErrors& errors) {
  const std::string_view version = wire::find_string(owner, "apiVersion");
  const std::size_t slash = version.find('/');
  if (version.empty() || slash == version.size() - 1) {
    errors.push_back(invalid(field + ".apiVersion", Json(version), "version must not be empty"));
  }
  for (const std::string_view member : {"kind", "name", "uid"}) {
    if (wire::find_string(owner, member).empty()) {
      errors.push_back(invalid(field + "." + std::string(member), Json(""), "must not be empty"));
    }
  }
  if (version == "v1" && wire::find_string(owner, "kind") == "Event") {
    errors.push_back(invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"));
  }
}

void check_owners(const Json& metadata, FieldErrors& errors) {
  const std::string field = "metadata.ownerReferences";
  const JsonArray& owners = items_at(metadata, "ownerReferences");
  const Json* controller = nullptr;
  for (const Json& owner : owners) {
    if (!owner.is_object()) continue;
    check_owner(owner, field, errors);
    const Json* flag = wire::find(owner, "controller");
    if (!flag || !flag->is_bool() || !flag->get_bool()) continue;
    if (controller) {
      errors.push_back(invalid(
          field, owners,
          "Only one reference can have Controller set to true. Found \"true\" in references for " +
              std::string(wire::find_string(*controller, "name")) + " and " +
              std::string(wire::find_string(owner, "name"))));
      break;
    }
    controller = &owner;
  }
}

std::set<std::string> finalizer_names(const Json& object) {
  const auto names = strings_at(object, "metadata.finalizers");
  return {names.begin(), names.end()};
}

void check_no_new_finalizers(const Json& object, const Json& old, FieldErrors& errors) {
  if (wire::find_string(old, "metadata.deletionTimestamp").empty()) return;
  const std::set<std::string> before = finalizer_names(old);
  std::string added;
  for (const std::string& name : finalizer_names(object)) {
    if (before.contains(name)) continue;
    added.append(added.empty() ? "" : ", ").append(wire::encode_json(Json(name)));
  }
  if (added.empty()) return;
  errors.push_back(forbidden("metadata.finalizers",
                             "no new finalizers can be added if the object is being deleted, found "
                             "new finalizers []string{" +
                                 added + "}"));
}

}  // namespace

FieldErrors check_metadata(const Kind& kind, const Json& object) {
  FieldErrors errors;
  static const Json kNone = JsonObject();
  const Json* metadata = wire::find(object, "metadata");
  if (!metadata || !metadata->is_object()) metadata = &kNone;
  check_names(kind, *metadata, errors);
  check_labels(*metadata, errors);
  check_annotations(*metadata, errors);
  check_finalizers(*metadata, errors);
  check_owners(*metadata, errors);
  return errors;
}

FieldErrors check_metadata_update(const Kind&, const Json& object, const Json& old) {
  FieldErrors errors;
  for (const std::string_view name : {"name", "namespace", "uid", "creationTimestamp",
                                      "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const std::string field = "metadata." + std::string(name);
    const Json* value = wire::find(object, field);
    const Json* before = wire::find(old, field);
    const Json now = value ? *value : Json();
    if (now != (before ? *before : Json())) {
      errors.push_back(invalid(field, now, "field is immutable"));
    }
  }
  const Json* generation = wire::find(object, "metadata.generation");
  const Json* old_generation = wire::find(old, "metadata.generation");
  if (generation && old_generation && generation->is_int64() && old_generation->is_int64() &&
      generation->get_int64() < old_generation->get_int64()) {
    errors.push_back(invalid("metadata.generation", *generation, "must not be decremented"));
  }
  check_no_new_finalizers(object, old, errors);
  return errors;
}

}  // namespace fairlead::resource
