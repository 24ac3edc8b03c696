// An OpenAPI v2 document as protobuf, in the message types of gnostic (package openapi.v2). Only
// the fields that this server's documents use are known here; the numbers are the format's.
#include <fmt/format.h>

#include "api/apimachinery/openapi/openapi_v2.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::apimachinery {
namespace {

using wire::ProtoWriter;

std::string_view text_of(const JsonObject& object, std::string_view name) {
  const Json* value = object.if_contains(name);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

bool truth_of(const JsonObject& object, std::string_view name) {
  const Json* value = object.if_contains(name);
  return value && value->is_bool() && value->get_bool();
}

template <class Visit>
void each_text(const JsonObject& object, std::string_view name, Visit visit) {
  const Json* list = object.if_contains(name);
  if (!list || !list->is_array()) return;
  for (const Json& item : list->get_array()) {
    if (item.is_string()) visit(std::string_view(item.get_string()));
  }
}

// Any: the value as YAML; JSON is YAML.
void write_any(ProtoWriter& out, std::uint32_t field, const Json& value) {
  out.message(field, [&](ProtoWriter& any) { any.bytes(2, wire::encode_json(value) + "\n"); });
}

void write_extensions(ProtoWriter& out, std::uint32_t field, const JsonObject& object) {
  for (const auto& member : object) {
    if (!member.key().starts_with("x-")) continue;
    out.message(field, [&](ProtoWriter& named) {
      named.bytes(1, member.key());
      write_any(named, 2, member.value());
    });
  }
}

void write_schema(ProtoWriter& out, const JsonObject& schema);

void write_named_schemas(ProtoWriter& out, const JsonObject& schemas) {
  for (const auto& member : schemas) {
    out.message(1, [&](ProtoWriter& named) {
      named.bytes(1, member.key());
      named.message(2,
                    [&](ProtoWriter& value) { write_schema(value, member.value().get_object()); });
    });
  }
}

void write_schema(ProtoWriter& out, const JsonObject& schema) {
  out.bytes(1, text_of(schema, "$ref"));
  out.bytes(2, text_of(schema, "format"));
  out.bytes(4, text_of(schema, "description"));
  if (const Json* value = schema.if_contains("default")) write_any(out, 5, *value);
  each_text(schema, "required", [&](std::string_view name) { out.bytes(19, name); });
  if (const Json* choices = schema.if_contains("enum"); choices && choices->is_array()) {
    for (const Json& choice : choices->get_array()) write_any(out, 20, choice);
  }
  if (const Json* values = schema.if_contains("additionalProperties");
      values && values->is_object()) {
    out.message(21, [&](ProtoWriter& item) {
      item.message(1, [&](ProtoWriter& value) { write_schema(value, values->get_object()); });
    });
  }
  if (const std::string_view type = text_of(schema, "type"); !type.empty()) {
    out.message(22, [&](ProtoWriter& item) { item.bytes(1, type); });
  }
  if (const Json* items = schema.if_contains("items"); items && items->is_object()) {
    out.message(23, [&](ProtoWriter& item) {
      item.message(1, [&](ProtoWriter& value) { write_schema(value, items->get_object()); });
    });
  }
  if (const Json* properties = schema.if_contains("properties");
      properties && properties->is_object()) {
    out.message(25, [&](ProtoWriter& map) { write_named_schemas(map, properties->get_object()); });
  }
  write_extensions(out, 31, schema);
}

void write_schema_field(ProtoWriter& out, std::uint32_t field, const JsonObject& holder) {
  const Json* schema = holder.if_contains("schema");
  if (!schema || !schema->is_object()) return;
  out.message(field, [&](ProtoWriter& value) { write_schema(value, schema->get_object()); });
}

void write_body_parameter(ProtoWriter& out, const JsonObject& parameter) {
  out.bytes(1, text_of(parameter, "description"));
  out.bytes(2, text_of(parameter, "name"));
  out.bytes(3, text_of(parameter, "in"));
  out.boolean(4, truth_of(parameter, "required"));
  write_schema_field(out, 5, parameter);
}

// Query parameters have one field more than path parameters, which shifts `type` and what follows.
void write_plain_parameter(ProtoWriter& out, const JsonObject& parameter, bool query) {
  out.boolean(1, truth_of(parameter, "required"));
  out.bytes(2, text_of(parameter, "in"));
  out.bytes(3, text_of(parameter, "description"));
  out.bytes(4, text_of(parameter, "name"));
  out.bytes(query ? 6 : 5, text_of(parameter, "type"));
  out.boolean(query ? 20 : 19, truth_of(parameter, "uniqueItems"));
}

void write_parameters(ProtoWriter& out, std::uint32_t field, const JsonObject& holder) {
  const Json* list = holder.if_contains("parameters");
  if (!list || !list->is_array()) return;
  for (const Json& json : list->get_array()) {
    const JsonObject& parameter = json.get_object();
    const std::string_view in = text_of(parameter, "in");
    out.message(field, [&](ProtoWriter& item) {
      item.message(1, [&](ProtoWriter& choice) {
        if (in == "body") {
          choice.message(1, [&](ProtoWriter& body) { write_body_parameter(body, parameter); });
          return;
        }
        choice.message(2, [&](ProtoWriter& plain) {
          plain.message(in == "query" ? 3 : 4, [&](ProtoWriter& value) {
            write_plain_parameter(value, parameter, in == "query");
          });
        });
      });
    });
  }
}

void write_responses(ProtoWriter& out, const JsonObject& responses) {
  for (const auto& member : responses) {
    const JsonObject& response = member.value().get_object();
    out.message(1, [&](ProtoWriter& named) {
      named.bytes(1, member.key());
      named.message(2, [&](ProtoWriter& value) {
        value.message(1, [&](ProtoWriter& body) {
          body.bytes(1, text_of(response, "description"));
          if (response.contains("schema")) {
            body.message(2, [&](ProtoWriter& item) { write_schema_field(item, 1, response); });
          }
        });
      });
    });
  }
}

void write_operation(ProtoWriter& out, const JsonObject& operation) {
  each_text(operation, "tags", [&](std::string_view tag) { out.bytes(1, tag); });
  out.bytes(3, text_of(operation, "description"));
  out.bytes(5, text_of(operation, "operationId"));
  each_text(operation, "produces", [&](std::string_view type) { out.bytes(6, type); });
  each_text(operation, "consumes", [&](std::string_view type) { out.bytes(7, type); });
  write_parameters(out, 8, operation);
  if (const Json* responses = operation.if_contains("responses")) {
    out.message(9, [&](ProtoWriter& value) { write_responses(value, responses->get_object()); });
  }
  write_extensions(out, 13, operation);
}

void write_path_item(ProtoWriter& out, const JsonObject& item) {
  constexpr std::pair<std::string_view, std::uint32_t> kMethods[] = {
      {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  for (const auto& [method, field] : kMethods) {
    if (const Json* operation = item.if_contains(method)) {
      out.message(field,
                  [&](ProtoWriter& value) { write_operation(value, operation->get_object()); });
    }
  }
  write_parameters(out, 9, item);
}

void write_paths(ProtoWriter& out, const JsonObject& paths) {
  for (const auto& member : paths) {
    out.message(2, [&](ProtoWriter& named) {
      named.bytes(1, member.key());
      named.message(
          2, [&](ProtoWriter& value) { write_path_item(value, member.value().get_object()); });
    });
  }
}

}  // namespace

std::string encode_gnostic(const Json& document) {
  const JsonObject& object = document.get_object();
  std::string bytes;
  ProtoWriter out(bytes);
  out.bytes(1, text_of(object, "swagger"));
  if (const Json* info = object.if_contains("info")) {
    out.message(2, [&](ProtoWriter& value) {
      value.bytes(1, text_of(info->get_object(), "title"));
      value.bytes(2, text_of(info->get_object(), "version"));
    });
  }
  if (const Json* paths = object.if_contains("paths")) {
    out.message(8, [&](ProtoWriter& value) { write_paths(value, paths->get_object()); });
  }
  if (const Json* definitions = object.if_contains("definitions")) {
    out.message(9,
                [&](ProtoWriter& value) { write_named_schemas(value, definitions->get_object()); });
  }
  return bytes;
}

}  // namespace fairlead::apimachinery
