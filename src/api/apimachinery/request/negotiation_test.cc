// Accept, Content-Type, strict decoding and Warning headers.
#include <gtest/gtest.h>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/request/strict_decoding.h"
#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::string_view kKubectlGet =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
    "json;as=Table;v=v1beta1;g=meta.k8s.io,"
    "application/json";

const Offers kObjects{true, true, false, false};
const Offers kWatch{true, true, false, true};
const Offers kDiscovery{false, false, true, false};
const Offers kPlain{};

struct Case {
  std::string accept;
  Offers offers;
  Format format;
  Shape shape;
  std::string version;
};

// The first clause that the endpoint can serve wins; q-values come before position.
TEST(Accept, ChoosesRepresentation) {
  const std::vector<Case> cases = {
      {"", kObjects, Format::json, Shape::object, ""},
      {"*/*", kObjects, Format::json, Shape::object, ""},
      {"application/*", kObjects, Format::json, Shape::object, ""},
      {"application/json", kObjects, Format::json, Shape::object, ""},
      {"application/json, */*;q=0.8", kObjects, Format::json, Shape::object, ""},
      {"application/yaml", kObjects, Format::yaml, Shape::object, ""},
      {"application/yaml;q=0.5,application/json;q=0.9", kObjects, Format::json, Shape::object, ""},
      {"application/vnd.kubernetes.protobuf,application/json", kObjects, Format::json,
       Shape::object, ""},
      {std::string(kKubectlGet), kObjects, Format::json, Shape::table, "v1"},
      {std::string(kKubectlGet), kPlain, Format::json, Shape::object, ""},
      {std::string(kKubectlGet), kWatch, Format::json, Shape::table, "v1"},
      {"application/json;as=Table;v=v1beta1;g=meta.k8s.io", kObjects, Format::json, Shape::table,
       "v1beta1"},
      {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
       "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
       kObjects, Format::json, Shape::partial_metadata_list, "v1"},
      {"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", kWatch, Format::json,
       Shape::partial_metadata, "v1"},
      {"application/json;stream=watch", kWatch, Format::json, Shape::object, ""},
      {"application/json;charset=utf-8", kObjects, Format::json, Shape::object, ""},
      {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
       "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
       kDiscovery, Format::json, Shape::discovery_v2, "v2"},
      {"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
       kDiscovery, Format::json, Shape::discovery_v2beta1, "v2beta1"},
  };
  for (const Case& c : cases) {
    const auto chosen = negotiate(c.accept, c.offers);
    ASSERT_TRUE(chosen) << c.accept;
    EXPECT_EQ(chosen->format, c.format) << c.accept;
    EXPECT_EQ(chosen->shape, c.shape) << c.accept;
    EXPECT_EQ(chosen->meta_version, c.version) << c.accept;
  }
}

// What cannot be served at all is 406, naming what can.
TEST(Accept, RefusesUnknownTypes) {
  for (const char* accept :
       {"text/html", "application/vnd.kubernetes.protobuf", "application/json;q=0",
        "application/json;as=Pod;v=v1;g=core", "application/json;stream=bogus"}) {
    const auto chosen = negotiate(accept, kObjects);
    ASSERT_FALSE(chosen) << accept;
    EXPECT_EQ(chosen.error().code, 406);
    EXPECT_EQ(chosen.error().message,
              "only the following media types are accepted: application/json, application/yaml");
  }
  EXPECT_EQ(negotiate("application/yaml", kWatch).error().code, 406);
}

// Indented for people: by parameter, by query, by the look of the client; never for a watch.
TEST(Accept, DecidesOnPretty) {
  EXPECT_TRUE(negotiate("application/json;pretty=1", kPlain)->pretty);
  EXPECT_TRUE(negotiate("", kPlain, "", "true")->pretty);
  EXPECT_TRUE(negotiate("", kPlain, "curl/7.88")->pretty);
  EXPECT_TRUE(negotiate("", kPlain, "Mozilla/5.0 (X11)")->pretty);
  EXPECT_FALSE(negotiate("", kPlain, "curl/7.88", "false")->pretty);
  EXPECT_FALSE(negotiate("", kPlain, "kubectl/v1.32")->pretty);
  EXPECT_FALSE(negotiate("", kWatch, "curl/7.88", "true")->pretty);
}

// Aggregated discovery answers with the variant it serves, everything else plainly.
TEST(Accept, NamesContentType) {
  EXPECT_EQ(negotiate(kKubectlGet, kObjects)->content_type(), "application/json");
  EXPECT_EQ(negotiate("application/yaml", kObjects)->content_type(), "application/yaml");
  EXPECT_EQ(
      negotiate("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", kDiscovery)
          ->content_type(),
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
}

// Bodies are JSON unless they say otherwise; parameters do not matter.
TEST(Accept, ReadsContentTypes) {
  EXPECT_EQ(*body_format(""), Format::json);
  EXPECT_EQ(*body_format("application/json; charset=utf-8"), Format::json);
  EXPECT_EQ(*body_format("application/yaml"), Format::yaml);
  EXPECT_EQ(*body_format("application/vnd.kubernetes.protobuf"), Format::protobuf);
  EXPECT_EQ(body_format("application/cbor").error().code, 415);
  EXPECT_EQ(*patch_type("application/merge-patch+json", widget_kind()), PatchType::merge_patch);
  EXPECT_EQ(*patch_type("application/json-patch+json", widget_kind()), PatchType::json_patch);
  EXPECT_EQ(*patch_type("application/apply-patch+yaml", widget_kind()), PatchType::apply);
  EXPECT_EQ(*patch_type("application/strategic-merge-patch+json", gadget_kind()),
            PatchType::strategic_merge);
  const auto refused = patch_type("application/strategic-merge-patch+json", widget_kind());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 415);
  EXPECT_EQ(refused.error().message,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml");
}

// Old kubectl asks for v2 in protobuf under a deprecated name; v3 is JSON only.
TEST(Accept, NegotiatesOpenApi) {
  EXPECT_EQ(*negotiate_openapi_v2("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
            OpenApiFormat::protobuf);
  EXPECT_EQ(*negotiate_openapi_v2(kOpenApiV2Protobuf), OpenApiFormat::protobuf);
  EXPECT_EQ(*negotiate_openapi_v2("application/json"), OpenApiFormat::json);
  EXPECT_EQ(*negotiate_openapi_v2(""), OpenApiFormat::json);
  EXPECT_EQ(negotiate_openapi_v2("text/html").error().code, 406);
  EXPECT_EQ(negotiate_openapi_v3("application/com.github.proto-openapi.spec.v3.v1.0+protobuf")
                .error()
                .code,
            406);
  EXPECT_TRUE(accepts_gzip("deflate, gzip;q=0.5"));
  EXPECT_FALSE(accepts_gzip("gzip;q=0"));
  EXPECT_FALSE(accepts_gzip(""));
}

// Strict mode lists duplicates before unknown fields, in the words kubectl shows.
TEST(StrictDecoding, WordsProblems) {
  const auto problems = decoding_problems({"spec.size"}, {"spec.bogus"});
  EXPECT_EQ(strict_decoding_error(problems).message,
            "strict decoding error: duplicate field \"spec.size\", unknown field \"spec.bogus\"");
  EXPECT_EQ(strict_decoding_error(widget_kind(), problems).message,
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: "
            "duplicate field \"spec.size\", unknown field \"spec.bogus\"");
  EXPECT_EQ(decoding_problems({}, std::vector<std::string>(500, "x")).size(), 100u);
}

// Warnings are quoted, unique and bounded.
TEST(StrictDecoding, EncodesWarnings) {
  EXPECT_EQ(warning_headers({"unknown field \"a\\b\"", "", "x\ny", "x\ny"}),
            (std::vector<std::string>{R"(299 - "unknown field \"a\\b\"")", R"(299 - "xy")"}));
  std::vector<std::string> many;
  for (int i = 0; i < 50; ++i) many.push_back(std::to_string(i) + std::string(1000, 'x'));
  const auto cut = warning_headers(many);
  EXPECT_EQ(cut.size(), 16u);
  for (const std::string& header : cut) EXPECT_EQ(header.size(), 256 + 8u);
}

}  // namespace
}  // namespace fairlead::apimachinery
