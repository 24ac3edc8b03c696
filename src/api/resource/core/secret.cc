// Secret: values that not everybody may read.
#include <map>

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"
#include "api/resource/schema/base64_lines.h"
#include "api/resource/schema/text_formats.h"
#include "foundation/base/encoding.h"

namespace fairlead::resource {
namespace {

std::string key_field(std::string_view key) { return std::string("data[").append(key).append("]"); }

// stringData is a convenience for writing: it becomes part of data and is never stored.
void merge_string_data(JsonObject& members) {
  const auto given = members.find("stringData");
  if (given == members.end()) return;
  const JsonObject* texts = given->value().if_object();
  if (!texts && !given->value().is_null()) return;  // the schema check reports it
  if (texts && !texts->empty()) {
    const JsonObject copied = *texts;
    Json& data = members["data"];
    if (data.is_null()) data = JsonObject();
    if (!data.is_object()) return;
    for (const auto& text : copied) {
      if (!text.value().is_string()) return;
      data.get_object()[text.key()] = encode_base64(text.value().get_string());
    }
  }
  members.stable_erase(members.find("stringData"));
}

void prepare(Json& object, const Json*, Write, Moment) {
  JsonObject* members = object.if_object();
  if (!members) return;
  merge_string_data(*members);
  join_base64_lines(*members, "data");
}

const std::map<std::string_view, std::vector<std::string_view>>& required_keys() {
  static const std::map<std::string_view, std::vector<std::string_view>> keys = {
      {"kubernetes.io/tls", {"tls.crt", "tls.key"}},
      {"kubernetes.io/dockercfg", {".dockercfg"}},
      {"kubernetes.io/dockerconfigjson", {".dockerconfigjson"}},
      {"kubernetes.io/ssh-auth", {"ssh-privatekey"}},
  };
  return keys;
}

FieldErrors validate(const Json& object, const Json* old, Write) {
  FieldErrors errors;
  std::size_t size = 0;
  const JsonObject& data = members_at(object, "data");
  for (const auto& entry : data) {
    if (std::string problem = config_map_key_problem(entry.key()); !problem.empty()) {
      errors.push_back(invalid(key_field(entry.key()), Json(entry.key()), std::move(problem)));
    }
    if (entry.value().is_string()) size += base64_size(entry.value().get_string());
  }
  if (size > kMaxDataBytes) errors.push_back(too_long("data", kMaxDataBytes));
  const std::string_view type = wire::find_string(object, "type");
  if (const auto needed = required_keys().find(type); needed != required_keys().end()) {
    for (const std::string_view key : needed->second) {
      if (!data.contains(key)) errors.push_back(required(key_field(key)));
    }
  }
  if (!old) return errors;
  if (type != wire::find_string(*old, "type")) {
    errors.push_back(invalid("type", Json(type), "field is immutable"));
  }
  check_immutable_data(object, *old, {"data"}, errors);
  return errors;
}

}  // namespace

Kind secret_kind() {
  Kind kind = core_kind("", "Secret", "secrets", "secret");
  kind.schema = core_object(
      "A Secret holds values that not everybody may read.",
      {field("data", map_of(bytes("A value in base64."), "The values.")),
       field("stringData", map_of(string("A value."),
                                  "Values to be added to data as text; never "
                                  "returned.")),
       field("type", string("What the values are for.").defaults_to("Opaque")),
       field("immutable", boolean("True forbids changing the data; it cannot be unset."))});
  kind.selectable = {"type"};
  kind.columns = {
      name_column(), column("Type", "string", "What the values are for.", text_at("type")),
      column("Data", "string", "Number of keys.",
             [](const Json& object, Moment) { return Json(members_at(object, "data").size()); }),
      age_column()};
  kind.prepare = prepare;
  kind.validate = validate;
  return kind;
}

}  // namespace fairlead::resource
