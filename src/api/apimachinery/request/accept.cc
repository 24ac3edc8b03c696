#include "api/apimachinery/request/accept.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "api/apimachinery/kube_protobuf.h"
#include "api/apimachinery/request/media_type.h"

namespace fairlead::apimachinery {
namespace {

const std::vector<std::string_view> kBodyTypes = {"application/json", "application/yaml"};
const std::vector<std::string_view> kStreamTypes = {"application/json;stream=watch",
                                                    "application/yaml;stream=watch"};
constexpr std::string_view kOpenApiV2ProtobufOld =
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
constexpr std::string_view kAggregatedV2 =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
constexpr std::string_view kAggregatedV2Beta1 =
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

bool is_true(std::string_view text) {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" ||
         text == "True";
}

bool is_human(std::string_view user_agent) {
  return user_agent.starts_with("curl") || user_agent.starts_with("Wget") ||
         user_agent.starts_with("Mozilla/5.0");
}

std::optional<Format> format_of(const MediaType& type, const Offers& offers) {
  if (type.matches("application", "json")) return Format::json;
  // Events come one JSON object per line; there is no such thing in YAML.
  if (type.matches("application", "yaml") && !offers.watch) return Format::yaml;
  return std::nullopt;
}

// The shape that `as`, `g` and `v` ask for; nullopt when the endpoint does not offer it.
std::optional<Shape> shape_of_clause(const MediaType& type, const Offers& offers) {
  const std::string_view as = type.parameter("as");
  const std::string_view group = type.parameter("g");
  const std::string_view version = type.parameter("v");
  if (as.empty() && group.empty() && version.empty()) return Shape::object;
  if (group == "meta.k8s.io" && (version == "v1" || version == "v1beta1")) {
    if (as == "Table" && offers.table) return Shape::table;
    if (as == "PartialObjectMetadata" && offers.partial_metadata) return Shape::partial_metadata;
    if (as == "PartialObjectMetadataList" && offers.partial_metadata) {
      return Shape::partial_metadata_list;
    }
    return std::nullopt;
  }
  if (group == "apidiscovery.k8s.io" && as == "APIGroupDiscoveryList" && offers.discovery) {
    if (version == "v2") return Shape::discovery_v2;
    if (version == "v2beta1") return Shape::discovery_v2beta1;
  }
  return std::nullopt;
}

std::optional<Representation> representation_of(const MediaType& type, const Offers& offers) {
  const auto format = format_of(type, offers);
  const auto shape = shape_of_clause(type, offers);
  if (!format || !shape) return std::nullopt;
  const std::string_view stream = type.parameter("stream");
  if (!stream.empty() && stream != "watch") return std::nullopt;
  Representation representation;
  representation.format = *format;
  representation.shape = *shape;
  if (*shape != Shape::object) representation.meta_version = type.parameter("v");
  representation.pretty = type.parameter("pretty") == "1";
  return representation;
}

Answer<OpenApiFormat> negotiate_openapi(std::string_view accept,
                                        const std::vector<std::string_view>& protobuf) {
  for (const MediaType& type : parse_accept(accept)) {
    if (type.matches("application", "json")) return OpenApiFormat::json;
    if (std::find(protobuf.begin(), protobuf.end(), type.text()) != protobuf.end()) {
      return OpenApiFormat::protobuf;
    }
  }
  std::vector<std::string_view> accepted = {"application/json"};
  accepted.insert(accepted.end(), protobuf.begin(), protobuf.end());
  return refuse(not_acceptable(accepted));
}

}  // namespace

std::string_view Representation::content_type() const {
  if (shape == Shape::discovery_v2) return kAggregatedV2;
  if (shape == Shape::discovery_v2beta1) return kAggregatedV2Beta1;
  return format == Format::json ? "application/json" : "application/yaml";
}

Answer<Representation> negotiate(std::string_view accept, const Offers& offers,
                                 std::string_view user_agent, std::string_view pretty) {
  std::optional<Representation> chosen;
  for (const MediaType& type : parse_accept(accept)) {
    chosen = representation_of(type, offers);
    if (chosen) break;
  }
  if (!chosen) return refuse(not_acceptable(offers.watch ? kStreamTypes : kBodyTypes));
  if (offers.watch) {
    chosen->pretty = false;
  } else if (!chosen->pretty) {
    chosen->pretty = pretty.empty() ? is_human(user_agent) : is_true(pretty);
  }
  return std::move(*chosen);
}

Answer<Format> body_format(std::string_view content_type) {
  if (content_type.empty()) return Format::json;
  const MediaType type = parse_media_type(content_type);
  if (type.text() == "application/json") return Format::json;
  if (type.text() == "application/yaml") return Format::yaml;
  if (type.text() == kKubeProtobuf) return Format::protobuf;
  return refuse(unsupported_media_type(kBodyTypes));
}

std::vector<std::string_view> patch_content_types(const resource::Kind& kind) {
  std::vector<std::string_view> types = {"application/json-patch+json",
                                         "application/merge-patch+json"};
  if (kind.strategic_merge) types.push_back("application/strategic-merge-patch+json");
  types.push_back("application/apply-patch+yaml");
  return types;
}

Answer<PatchType> patch_type(std::string_view content_type, const resource::Kind& kind) {
  const std::string text = parse_media_type(content_type).text();
  if (text == "application/json-patch+json") return PatchType::json_patch;
  if (text == "application/merge-patch+json") return PatchType::merge_patch;
  if (text == "application/apply-patch+yaml") return PatchType::apply;
  if (text == "application/strategic-merge-patch+json" && kind.strategic_merge) {
    return PatchType::strategic_merge;
  }
  return refuse(unsupported_media_type(patch_content_types(kind)));
}

Answer<OpenApiFormat> negotiate_openapi_v2(std::string_view accept) {
  return negotiate_openapi(accept, {kOpenApiV2Protobuf, kOpenApiV2ProtobufOld});
}

Answer<OpenApiFormat> negotiate_openapi_v3(std::string_view accept) {
  return negotiate_openapi(accept, {});
}

bool accepts_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::string_view part = accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(std::min(accept_encoding.size(), part.size() + 1));
    const MediaType coding = parse_media_type(part);
    if ((coding.type == "gzip" || coding.type == "*") && coding.quality() > 0) return true;
  }
  return false;
}

}  // namespace fairlead::apimachinery
