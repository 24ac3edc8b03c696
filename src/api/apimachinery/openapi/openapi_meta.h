// The models of meta/v1 that every OpenAPI document of this server contains.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/apimachinery/openapi/openapi_model.h"

namespace fairlead::apimachinery {

// ObjectMeta, ListMeta, Status, DeleteOptions, Patch, IntOrString. Status and DeleteOptions are
// registered under the group versions of `kinds` too, as Kubernetes has them.
std::map<std::string, JsonObject> meta_models(const std::vector<const resource::Kind*>& kinds,
                                              const ModelOptions& options);

}  // namespace fairlead::apimachinery
