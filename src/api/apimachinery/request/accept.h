// Content negotiation: Accept → how to answer, Content-Type → how to read. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/apimachinery/status.h"
#include "api/resource/kind.h"

namespace fairlead::apimachinery {

enum class Format { json, yaml, protobuf };  // protobuf for request bodies only

// What the answer is turned into.
enum class Shape {
  object,
  table,
  partial_metadata,
  partial_metadata_list,
  discovery_v2,
  discovery_v2beta1
};

struct Representation {
  Format format = Format::json;
  Shape shape = Shape::object;
  std::string meta_version;  // "v1" or "v1beta1" when the shape is from meta.k8s.io
  bool pretty = false;

  // The Content-Type header to send: plain for Table and PartialObjectMetadata.
  std::string_view content_type() const;
};

// What an endpoint is able to answer besides the plain object.
struct Offers {
  bool table = false;
  bool partial_metadata = false;
  bool discovery = false;  // aggregated discovery, JSON only
  bool watch = false;      // never pretty, JSON only
};

// Clauses are tried by q-value, then by position; one the endpoint does not offer is skipped, and
// 406 remains when none is left. `pretty` is the query parameter, empty when absent.
Answer<Representation> negotiate(std::string_view accept, const Offers& offers,
                                 std::string_view user_agent = {}, std::string_view pretty = {});

// How a request body is encoded; absent means JSON, unknown is 415.
Answer<Format> body_format(std::string_view content_type);

enum class PatchType { json_patch, merge_patch, strategic_merge, apply };
// 415 listing what the kind takes.
Answer<PatchType> patch_type(std::string_view content_type, const resource::Kind& kind);
std::vector<std::string_view> patch_content_types(const resource::Kind& kind);

// Accept for the two OpenAPI endpoints. v2 comes as JSON or as gnostic protobuf, v3 as JSON only.
enum class OpenApiFormat { json, protobuf };
Answer<OpenApiFormat> negotiate_openapi_v2(std::string_view accept);
Answer<OpenApiFormat> negotiate_openapi_v3(std::string_view accept);
inline constexpr std::string_view kOpenApiV2Protobuf =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// Accept-Encoding allows gzip.
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace fairlead::apimachinery
