#include "api/apimachinery/openapi/openapi_v2.h"

#include <fmt/format.h>

#include "api/apimachinery/openapi/openapi_model.h"

namespace fairlead::apimachinery {
namespace {

using resource::Kind;

constexpr ModelOptions kOptions{"#/definitions/", false};

JsonObject parameter(std::string_view in, std::string_view name, std::string_view type,
                     std::string_view description) {
  JsonObject out;
  out["uniqueItems"] = true;
  out["type"] = type;
  out["description"] = description;
  out["name"] = name;
  out["in"] = in;
  if (in == "path") out["required"] = true;
  return out;
}

JsonArray parameters(const Operation& operation) {
  JsonArray out;
  if (!operation.body_model.empty()) {
    JsonObject body;
    body["name"] = "body";
    body["in"] = "body";
    if (operation.body_model != kDeleteOptionsModel) body["required"] = true;
    body["schema"] = reference(operation.body_model, kOptions);
    out.push_back(std::move(body));
  }
  for (const std::string_view name : operation.query) {
    out.push_back(parameter("query", name, query_type(name), query_description(name)));
  }
  return out;
}

JsonObject responses(const Operation& operation) {
  JsonObject out;
  out["200"] =
      JsonObject{{"description", "OK"}, {"schema", reference(operation.response_model, kOptions)}};
  if (operation.method == "post" || operation.method == "put" || operation.method == "patch") {
    out["201"] = JsonObject{{"description", "Created"},
                            {"schema", reference(operation.response_model, kOptions)}};
  }
  out["401"] = JsonObject{{"description", "Unauthorized"}};
  return out;
}

JsonObject operation_json(const Operation& operation) {
  const Kind& kind = *operation.kind;
  JsonObject out;
  out["description"] = fmt::format("{} {}", operation.action, kind.kind);
  out["consumes"] = operation.consumes.empty()
                        ? JsonArray{"*/*"}
                        : JsonArray(operation.consumes.begin(), operation.consumes.end());
  out["produces"] = JsonArray{"application/json", "application/yaml"};
  out["tags"] = JsonArray{
      Json(kind.group.empty() ? "core_" + kind.version : kind.group + "_" + kind.version)};
  out["operationId"] = operation_id(operation);
  out["parameters"] = parameters(operation);
  out["responses"] = responses(operation);
  out["x-kubernetes-action"] = operation.action;
  out["x-kubernetes-group-version-kind"] =
      JsonObject{{"group", kind.group}, {"kind", kind.kind}, {"version", kind.version}};
  return out;
}

JsonArray path_parameters(const Operation& operation) {
  JsonArray out;
  if (operation.path.find("{name}") != std::string::npos) {
    out.push_back(parameter("path", "name", "string", "name of the " + operation.kind->kind));
  }
  if (operation.path.find("{namespace}") != std::string::npos) {
    out.push_back(parameter("path", "namespace", "string",
                            "object name and auth scope, such as for teams and projects"));
  }
  return out;
}

}  // namespace

Json make_openapi_v2(const std::vector<const Kind*>& kinds) {
  JsonObject paths;
  for (const Kind* kind : kinds) {
    for (const Operation& operation : operations_of(*kind)) {
      JsonObject& item = wire::member_object(paths, operation.path);
      item[operation.method] = operation_json(operation);
      if (JsonArray shared = path_parameters(operation); !shared.empty()) {
        item["parameters"] = std::move(shared);
      }
    }
  }
  JsonObject definitions;
  for (auto& [name, model] : models_of(kinds, kOptions)) definitions[name] = std::move(model);
  JsonObject document;
  document["swagger"] = "2.0";
  document["info"] = JsonObject{{"title", "Fairlead"}, {"version", "v1"}};
  document["paths"] = std::move(paths);
  document["definitions"] = std::move(definitions);
  return document;
}

OpenApiV2::OpenApiV2(const std::vector<const Kind*>& kinds) {
  const Json document = make_openapi_v2(kinds);
  json_.body = wire::encode_json(document);
  json_.etag = make_etag(json_.body);
  protobuf_.body = encode_gnostic(document);
  protobuf_.etag = make_etag(protobuf_.body);
}

}  // namespace fairlead::apimachinery
