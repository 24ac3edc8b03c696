// What both OpenAPI versions are made from: named schemas and operations derived from the catalog.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/catalog.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

// "io.k8s.api.core.v1.ConfigMap", "com.example.v1.Widget": how a kind's model is named.
std::string model_name(const resource::Kind& kind);
inline constexpr std::string_view kObjectMetaModel =
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
inline constexpr std::string_view kListMetaModel = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
inline constexpr std::string_view kStatusModel = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
inline constexpr std::string_view kDeleteOptionsModel =
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
inline constexpr std::string_view kIntOrStringModel =
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
inline constexpr std::string_view kPatchModel = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

// `prefix` is "#/components/schemas/" or "#/definitions/".
struct ModelOptions {
  std::string_view prefix;
  bool version3 = true;  // nullable, default and oneOf as OpenAPI 3 has them
};

// A schema as JSON schema with Kubernetes' extensions, nested schemas in place.
JsonObject schema_json(const resource::Schema& schema, const ModelOptions& options);

// `{"$ref": …}`; a description of the place that refers needs a wrapper in version 3.
JsonObject reference(std::string_view model, const ModelOptions& options,
                     std::string_view description = {});

// Every model of the kinds: the kind itself, its list, and the shared meta/v1 ones.
std::map<std::string, JsonObject> models_of(const std::vector<const resource::Kind*>& kinds,
                                            const ModelOptions& options);

struct Operation {
  std::string path;    // "/apis/g/v/namespaces/{namespace}/widgets/{name}"
  std::string method;  // "get", "patch", …
  std::string action;  // x-kubernetes-action
  const resource::Kind* kind = nullptr;
  std::string body_model;  // "" when the request has no body
  std::string response_model;
  std::vector<std::string_view> consumes;
  std::vector<std::string_view> query;  // names of query parameters
};
std::vector<Operation> operations_of(const resource::Kind& kind);
// One word for the operation: "createNamespacedWidget" with group and version in it.
std::string operation_id(const Operation& operation);
std::string_view query_description(std::string_view parameter);
std::string_view query_type(std::string_view parameter);  // "string", "boolean", "integer"

}  // namespace fairlead::apimachinery
