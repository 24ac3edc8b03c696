// Schemas as JSON; the shared meta/v1 models are in openapi_meta.cc, operations in
// openapi_operations.cc.
#include "api/apimachinery/openapi/openapi_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/apimachinery/openapi/openapi_meta.h"

namespace fairlead::apimachinery {
namespace {

using resource::Kind;
using resource::Schema;

JsonArray strings(const std::vector<std::string>& texts) {
  return JsonArray(texts.begin(), texts.end());
}

void put_type(const Schema& schema, JsonObject& out) {
  switch (schema.type) {
    case Schema::Type::object:
      out["type"] = "object";
      return;
    case Schema::Type::array:
      out["type"] = "array";
      return;
    case Schema::Type::string:
      out["type"] = "string";
      break;
    case Schema::Type::integer:
      out["type"] = "integer";
      break;
    case Schema::Type::number:
      out["type"] = "number";
      break;
    case Schema::Type::boolean:
      out["type"] = "boolean";
      break;
    case Schema::Type::int_or_string:
      return;  // a reference to the shared model
    case Schema::Type::any:
      out["x-kubernetes-preserve-unknown-fields"] = true;
      return;
  }
  // Microseconds are a matter of writing; readers know only date-time.
  if (!schema.format.empty()) {
    out["format"] = schema.format == "micro-time" ? "date-time" : schema.format;
  }
}

void put_limits(const Schema& schema, const ModelOptions& options, JsonObject& out) {
  if (schema.default_value) out["default"] = *schema.default_value;
  if (!schema.allowed.empty()) out["enum"] = strings(schema.allowed);
  if (schema.minimum) out["minimum"] = *schema.minimum;
  if (schema.maximum) out["maximum"] = *schema.maximum;
  if (schema.max_length) {
    out[schema.type == Schema::Type::array ? "maxItems" : "maxLength"] = *schema.max_length;
  }
  if (schema.nullable && options.version3) out["nullable"] = true;
}

void put_list_semantics(const Schema& schema, JsonObject& out) {
  switch (schema.list_type) {
    case Schema::ListType::atomic:
      out["x-kubernetes-list-type"] = "atomic";
      break;
    case Schema::ListType::set:
      out["x-kubernetes-list-type"] = "set";
      break;
    case Schema::ListType::map:
      out["x-kubernetes-list-type"] = "map";
      out["x-kubernetes-list-map-keys"] = strings(schema.map_keys);
      break;
  }
  if (!schema.patch_merge) return;
  out["x-kubernetes-patch-strategy"] = "merge";
  if (!schema.patch_merge_key.empty()) {
    out["x-kubernetes-patch-merge-key"] = schema.patch_merge_key;
  } else if (!schema.map_keys.empty()) {
    out["x-kubernetes-patch-merge-key"] = schema.map_keys.front();
  }
}

void put_members(const Schema& schema, const ModelOptions& options, JsonObject& out) {
  JsonArray required;
  JsonObject properties;
  for (const resource::Field& field : schema.fields) {
    properties[field.name] = schema_json(field.schema, options);
    if (field.required) required.push_back(Json(field.name));
  }
  if (!required.empty()) out["required"] = std::move(required);
  if (!properties.empty()) out["properties"] = std::move(properties);
  if (schema.values) out["additionalProperties"] = schema_json(*schema.values, options);
  if (schema.preserve_unknown) out["x-kubernetes-preserve-unknown-fields"] = true;
  if (schema.atomic) out["x-kubernetes-map-type"] = "atomic";
}

JsonArray gvk_list(const Kind& kind, std::string_view name) {
  return JsonArray{JsonObject{{"group", kind.group}, {"kind", name}, {"version", kind.version}}};
}

JsonObject kind_model(const Kind& kind, const ModelOptions& options) {
  JsonObject model = schema_json(kind.schema, options);
  // Every kind shares one model of metadata; explain follows the reference.
  if (Json* properties = model.if_contains("properties")) {
    JsonObject& members = properties->get_object();
    if (members.contains("metadata")) {
      members["metadata"] = reference(kObjectMetaModel, options, "Standard object metadata.");
    }
  }
  model["x-kubernetes-group-version-kind"] = gvk_list(kind, kind.kind);
  return model;
}

JsonObject list_model(const Kind& kind, const ModelOptions& options) {
  const auto text = [](std::string_view description) {
    return JsonObject{{"description", description}, {"type", "string"}};
  };
  JsonObject items;
  items["description"] = fmt::format("List of {}.", kind.plural);
  items["type"] = "array";
  items["items"] = reference(model_name(kind), options);
  JsonObject properties;
  properties["apiVersion"] = text("Version of the schema of this list.");
  properties["items"] = std::move(items);
  properties["kind"] = text("Kind of this list.");
  properties["metadata"] = reference(kListMetaModel, options, "Standard list metadata.");
  JsonObject model;
  model["description"] = fmt::format("{} is a list of {}.", kind.list_kind(), kind.kind);
  model["type"] = "object";
  model["required"] = JsonArray{"items"};
  model["properties"] = std::move(properties);
  model["x-kubernetes-group-version-kind"] = gvk_list(kind, kind.list_kind());
  return model;
}

// "discovery.k8s.io" → "discovery"; nothing for groups that Kubernetes does not own.
std::string_view kubernetes_group(std::string_view group) {
  if (group.empty()) return "core";
  constexpr std::string_view kSuffix = ".k8s.io";
  const std::size_t dots = static_cast<std::size_t>(std::count(group.begin(), group.end(), '.'));
  if (!group.ends_with(kSuffix) || dots != 2) return {};
  return group.substr(0, group.size() - kSuffix.size());
}

}  // namespace

std::string model_name(const Kind& kind) {
  if (const std::string_view group = kubernetes_group(kind.group); !group.empty()) {
    return fmt::format("io.k8s.api.{}.{}.{}", group, kind.version, kind.kind);
  }
  std::string reversed;
  std::string_view rest = kind.group;
  while (!rest.empty()) {
    const std::size_t dot = rest.rfind('.');
    const std::string_view label = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    reversed += fmt::format("{}.", label);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return fmt::format("{}{}.{}", reversed, kind.version, kind.kind);
}

JsonObject schema_json(const Schema& schema, const ModelOptions& options) {
  if (schema.type == Schema::Type::int_or_string) {
    return reference(kIntOrStringModel, options, schema.description);
  }
  JsonObject out;
  if (!schema.description.empty()) out["description"] = schema.description;
  put_type(schema, out);
  put_limits(schema, options, out);
  if (schema.type == Schema::Type::object) put_members(schema, options, out);
  if (schema.type == Schema::Type::array) {
    out["items"] = schema.items ? schema_json(*schema.items, options) : JsonObject();
    put_list_semantics(schema, out);
  }
  return out;
}

JsonObject reference(std::string_view model, const ModelOptions& options,
                     std::string_view description) {
  JsonObject target{{"$ref", fmt::format("{}{}", options.prefix, model)}};
  if (description.empty()) return target;
  JsonObject out;
  out["description"] = description;
  // OpenAPI 3.0 ignores what stands beside $ref, so the text needs allOf around it.
  if (options.version3) {
    out["allOf"] = JsonArray{std::move(target)};
  } else {
    out["$ref"] = target["$ref"];
  }
  return out;
}

std::map<std::string, JsonObject> models_of(const std::vector<const Kind*>& kinds,
                                            const ModelOptions& options) {
  std::map<std::string, JsonObject> models = meta_models(kinds, options);
  for (const Kind* kind : kinds) {
    models[model_name(*kind)] = kind_model(*kind, options);
    if (kind->stored) models[model_name(*kind) + "List"] = list_model(*kind, options);
  }
  return models;
}

}  // namespace fairlead::apimachinery
