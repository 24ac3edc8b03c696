// The documents about the API itself: version, discovery, OpenAPI. Each is made once; the long ones
// at their first request.
#pragma once

#include <optional>
#include <string>

#include "api/apimachinery/openapi/discovery.h"
#include "api/apimachinery/openapi/openapi_v2.h"
#include "api/apimachinery/openapi/openapi_v3.h"
#include "api/apiserver/request.h"
#include "api/resource/catalog.h"

namespace fairlead::apiserver {

class Documents {
 public:
  // `reviews`: resources that are served beside the catalog's kinds and not stored.
  Documents(const resource::Catalog& catalog,
            const std::vector<apimachinery::ServedResource>& reviews);

  // True when `path` is one of these documents.
  bool serves(std::string_view path) const;
  // REQUIRES: serves(request.info.path).
  Task<Result<>> serve(Request& request);

 private:
  Task<Result<>> serve_discovery(Request& request);
  Task<Result<>> serve_openapi_v2(Request& request);
  Task<Result<>> serve_openapi_v3(Request& request);

  apimachinery::Discovery discovery_;
  std::vector<const resource::Kind*> kinds_;  // stored ones and reviews
  std::optional<apimachinery::OpenApiV2> openapi_v2_;
  std::optional<apimachinery::OpenApiV3> openapi_v3_;
};

}  // namespace fairlead::apiserver
