// ConfigMap: configuration as keys and values.
#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"
#include "api/resource/schema/base64_lines.h"
#include "api/resource/schema/text_formats.h"

namespace fairlead::resource {
namespace {

std::string key_field(std::string_view member, std::string_view key) {
  return std::string(member).append("[").append(key).append("]");
}

void prepare(Json& object, const Json*, Write, Moment) {
  if (JsonObject* members = object.if_object()) join_base64_lines(*members, "binaryData");
}

FieldErrors validate(const Json& object, const Json* old, Write) {
  FieldErrors errors;
  std::size_t size = 0;
  const JsonObject& binary = members_at(object, "binaryData");
  for (const auto& entry : members_at(object, "data")) {
    const std::string field = key_field("data", entry.key());
    if (std::string problem = config_map_key_problem(entry.key()); !problem.empty()) {
      errors.push_back(invalid(field, Json(entry.key()), std::move(problem)));
    }
    if (binary.contains(entry.key())) {
      errors.push_back(invalid(field, Json(entry.key()), "duplicate of key present in binaryData"));
    }
    if (entry.value().is_string()) size += entry.value().get_string().size();
  }
  for (const auto& entry : binary) {
    if (std::string problem = config_map_key_problem(entry.key()); !problem.empty()) {
      errors.push_back(
          invalid(key_field("binaryData", entry.key()), Json(entry.key()), std::move(problem)));
    }
    if (entry.value().is_string()) size += base64_size(entry.value().get_string());
  }
  if (size > kMaxDataBytes) errors.push_back(too_long("", kMaxDataBytes));
  if (old) check_immutable_data(object, *old, {"data", "binaryData"}, errors);
  return errors;
}

}  // namespace

Kind config_map_kind() {
  Kind kind = core_kind("", "ConfigMap", "configmaps", "configmap");
  kind.short_names = {"cm"};
  kind.schema = core_object(
      "A ConfigMap holds configuration for others to read.",
      {field("data", map_of(string("A value."), "Values that are text.")),
       field("binaryData", map_of(bytes("A value in base64."),
                                  "Values that are not text. Keys differ from those "
                                  "in data.")),
       field("immutable", boolean("True forbids changing the data; it cannot be unset."))});
  kind.columns = {name_column(),
                  column("Data", "string", "Number of keys.",
                         [](const Json& object, Moment) {
                           return Json(members_at(object, "data").size() +
                                       members_at(object, "binaryData").size());
                         }),
                  age_column()};
  kind.prepare = prepare;
  kind.validate = validate;
  return kind;
}

}  // namespace fairlead::resource
