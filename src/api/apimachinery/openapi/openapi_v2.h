// OpenAPI v2 (Swagger): one document over everything, as JSON and as gnostic protobuf. kubectl up
// to 1.28 insists on the protobuf form for create, apply and explain.
#pragma once

#include <string>

#include "api/apimachinery/openapi/discovery.h"
#include "api/resource/catalog.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

class OpenApiV2 {
 public:
  explicit OpenApiV2(const std::vector<const resource::Kind*>& kinds);
  const Document& json() const { return json_; }
  const Document& protobuf() const { return protobuf_; }

 private:
  Document json_;
  Document protobuf_;
};

// The document as a value, and its protobuf encoding (openapi.v2.Document).
Json make_openapi_v2(const std::vector<const resource::Kind*>& kinds);
std::string encode_gnostic(const Json& document);

}  // namespace fairlead::apimachinery
