#include "api/apimachinery/openapi/openapi_v3.h"

#include <fmt/format.h>

#include "api/apimachinery/openapi/openapi_model.h"

namespace fairlead::apimachinery {
namespace {

using resource::Kind;

constexpr ModelOptions kOptions{"#/components/schemas/", true};

JsonObject query_parameter(std::string_view name) {
  JsonObject parameter;
  parameter["name"] = name;
  parameter["in"] = "query";
  parameter["description"] = query_description(name);
  parameter["schema"] = JsonObject{{"type", query_type(name)}, {"uniqueItems", true}};
  return parameter;
}

JsonObject path_parameter(std::string_view name, std::string_view description) {
  JsonObject parameter;
  parameter["name"] = name;
  parameter["in"] = "path";
  parameter["description"] = description;
  parameter["required"] = true;
  parameter["schema"] = JsonObject{{"type", "string"}, {"uniqueItems", true}};
  return parameter;
}

JsonArray path_parameters(const Operation& operation) {
  JsonArray parameters;
  if (operation.path.find("{name}") != std::string::npos) {
    parameters.push_back(path_parameter("name", "name of the " + operation.kind->kind));
  }
  if (operation.path.find("{namespace}") != std::string::npos) {
    parameters.push_back(path_parameter("namespace",
                                        "object name and auth scope, such as for "
                                        "teams and projects"));
  }
  return parameters;
}

JsonObject content(const std::vector<std::string_view>& types, const std::string& model) {
  JsonObject out;
  for (const std::string_view type : types) {
    out[type] = JsonObject{{"schema", reference(model, kOptions)}};
  }
  return out;
}

JsonObject responses(const Operation& operation) {
  JsonObject ok;
  ok["description"] = "OK";
  ok["content"] = content({"application/json", "application/yaml"}, operation.response_model);
  JsonObject out;
  out["200"] = ok;
  if (operation.method == "post" || operation.method == "put" || operation.method == "patch") {
    JsonObject created = ok;
    created["description"] = "Created";
    out["201"] = std::move(created);
  }
  out["401"] = JsonObject{{"description", "Unauthorized"}};
  return out;
}

JsonObject operation_json(const Operation& operation) {
  const Kind& kind = *operation.kind;
  JsonArray parameters;
  for (const std::string_view name : operation.query) parameters.push_back(query_parameter(name));
  JsonObject out;
  out["tags"] = JsonArray{
      Json(kind.group.empty() ? "core_" + kind.version : kind.group + "_" + kind.version)};
  out["description"] = fmt::format("{} {}", operation.action, kind.kind);
  out["operationId"] = operation_id(operation);
  out["parameters"] = std::move(parameters);
  if (!operation.body_model.empty()) {
    out["requestBody"] = JsonObject{{"content", content(operation.consumes, operation.body_model)}};
  }
  out["responses"] = responses(operation);
  out["x-kubernetes-action"] = operation.action;
  out["x-kubernetes-group-version-kind"] =
      JsonObject{{"group", kind.group}, {"kind", kind.kind}, {"version", kind.version}};
  return out;
}

JsonObject paths_json(const std::vector<const Kind*>& kinds) {
  JsonObject paths;
  for (const Kind* kind : kinds) {
    for (const Operation& operation : operations_of(*kind)) {
      JsonObject& item = wire::member_object(paths, operation.path);
      item[operation.method] = operation_json(operation);
      if (JsonArray parameters = path_parameters(operation); !parameters.empty()) {
        item["parameters"] = std::move(parameters);
      }
    }
  }
  return paths;
}

Json group_version_document(const std::vector<const Kind*>& kinds) {
  JsonObject schemas;
  for (auto& [name, model] : models_of(kinds, kOptions)) schemas[name] = std::move(model);
  JsonObject document;
  document["openapi"] = "3.0.0";
  document["info"] = JsonObject{{"title", "Fairlead"}, {"version", "v1"}};
  document["paths"] = paths_json(kinds);
  document["components"] = JsonObject{{"schemas", std::move(schemas)}};
  return document;
}

Document make_document(const Json& value) {
  Document document;
  document.body = wire::encode_json(value);
  document.etag = make_etag(document.body);
  return document;
}

std::string document_path(const Kind& kind) {
  return kind.group.empty() ? "api/" + kind.version
                            : fmt::format("apis/{}/{}", kind.group, kind.version);
}

}  // namespace

OpenApiV3::OpenApiV3(const std::vector<const Kind*>& all) {
  std::map<std::string, std::vector<const Kind*>> by_path;
  for (const Kind* kind : all) by_path[document_path(*kind)].push_back(kind);
  JsonObject paths;
  for (const auto& [path, kinds] : by_path) {
    documents_[path] = make_document(group_version_document(kinds));
    paths[path] = JsonObject{{"serverRelativeURL", url(path)}};
  }
  root_ = make_document(JsonObject{{"paths", std::move(paths)}});
}

const Document* OpenApiV3::document(std::string_view path) const {
  const auto it = documents_.find(path);
  return it == documents_.end() ? nullptr : &it->second;
}

std::string OpenApiV3::hash(std::string_view path) const {
  const Document* found = document(path);
  return found ? found->etag.substr(1, found->etag.size() - 2) : std::string();
}

std::string OpenApiV3::url(std::string_view path) const {
  return fmt::format("/openapi/v3/{}?hash={}", path, hash(path));
}

}  // namespace fairlead::apimachinery
