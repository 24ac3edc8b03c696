// Tables, partial metadata, discovery and OpenAPI documents.
#include <gtest/gtest.h>

#include "api/apimachinery/openapi/discovery.h"
#include "api/apimachinery/openapi/openapi_model.h"
#include "api/apimachinery/openapi/openapi_v2.h"
#include "api/apimachinery/openapi/openapi_v3.h"
#include "api/apimachinery/partial_metadata.h"
#include "api/apimachinery/table.h"
#include "api/apimachinery/test_kinds.h"
#include "api/resource/core/reviews.h"
#include "api/resource/test_kinds.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::apimachinery {
namespace {

std::vector<const resource::Kind*> kinds_of(const resource::Catalog& catalog) {
  std::vector<const resource::Kind*> kinds;
  for (const auto& kind : catalog.kinds()) kinds.push_back(kind.get());
  return kinds;
}

const Json kWidget = json(
    R"({"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"name":"w","resourceVersion":"5"},"spec":{"size":3}})");

resource::Catalog small_catalog() { return resource::Catalog({widget_kind(), gadget_kind()}); }

// A list as a Table: metadata, columns, one row per object with its metadata.
TEST(Table, ShowsRows) {
  const Json* objects[] = {&kWidget};
  EXPECT_EQ(
      text(make_table(widget_kind(), objects, {"9", "tok", 4}, {})),
      R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","continue":"tok","remainingItemCount":4},)"
      R"("columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"The name.","priority":0},)"
      R"({"name":"Size","type":"integer","format":"","description":"How large.","priority":0}],)"
      R"("rows":[{"cells":["w",3],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"w","resourceVersion":"5"}}}]})");
}

// includeObject decides what a row carries; later watch events repeat no columns.
TEST(Table, IncludesWhatWasAsked) {
  const Json* objects[] = {&kWidget};
  TableOptions options;
  options.column_definitions = false;
  options.meta_version = "v1beta1";
  options.include = *parse_include_object("None");
  const Json none = make_table(widget_kind(), objects, {"5", "", {}}, options);
  EXPECT_TRUE(none.at("columnDefinitions").is_null());
  EXPECT_TRUE(none.at("rows").at(0).at("object").is_null());
  EXPECT_EQ(none.at("apiVersion").as_string(), "meta.k8s.io/v1beta1");
  options.include = *parse_include_object("Object");
  EXPECT_EQ(make_table(widget_kind(), objects, {}, options).at("rows").at(0).at("object"), kWidget);
  EXPECT_EQ(*parse_include_object(""), IncludeObject::metadata);
  EXPECT_EQ(parse_include_object("x").error().code, 400);
}

// A list of metadata has items, never null.
TEST(PartialMetadata, Lists) {
  EXPECT_EQ(
      text(make_partial_metadata_list({}, {"7", "", {}})),
      R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[]})");
}

// The unaggregated documents list groups, versions and resources with their verbs.
TEST(Discovery, ListsResources) {
  const Discovery discovery(
      small_catalog(), {review_resource("authorization.k8s.io", "v1", "SelfSubjectAccessReview",
                                        "selfsubjectaccessreviews")});
  EXPECT_EQ(discovery.core_versions()->body,
            R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]})"
            "\n");
  EXPECT_EQ(
      discovery.groups().body,
      R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)"
      R"({"name":"authorization.k8s.io","versions":[{"groupVersion":"authorization.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"authorization.k8s.io/v1","version":"v1"}},)"
      R"({"name":"demo.example.com","versions":[{"groupVersion":"demo.example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"demo.example.com/v1","version":"v1"}}]})"
      "\n");
  EXPECT_EQ(
      discovery.resources("demo.example.com", "v1")->body,
      R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":"demo.example.com/v1","resources":[)"
      R"({"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["wd"]},)"
      R"({"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]}]})"
      "\n");
  EXPECT_NE(discovery.group("demo.example.com"), nullptr);
  EXPECT_EQ(discovery.group("nobody"), nullptr);
  EXPECT_EQ(discovery.resources("demo.example.com", "v9"), nullptr);
  EXPECT_NE(discovery.resources("", "v1"), nullptr);
}

// The aggregated form carries the same with a responseKind everywhere, and an ETag.
TEST(Discovery, Aggregates) {
  const Discovery discovery(small_catalog(), {});
  EXPECT_EQ(
      discovery.aggregated_groups(false).body,
      R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[)"
      R"({"metadata":{"name":"demo.example.com"},"versions":[{"version":"v1","resources":[)"
      R"({"resource":"widgets","responseKind":{"group":"demo.example.com","version":"v1","kind":"Widget"},"scope":"Namespaced","singularResource":"widget","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["wd"],)"
      R"("subresources":[{"subresource":"status","responseKind":{"group":"demo.example.com","version":"v1","kind":"Widget"},"verbs":["get","patch","update"]}]}],"freshness":"Current"}]}]})"
      "\n");
  EXPECT_NE(discovery.aggregated_core(true).body.find("apidiscovery.k8s.io/v2beta1"),
            std::string::npos);
  const std::string& etag = discovery.aggregated_groups(false).etag;
  EXPECT_EQ(etag.size(), 130u);
  EXPECT_TRUE(etag_matches(etag, etag));
  EXPECT_TRUE(etag_matches("\"x\", W/" + etag, etag));
  EXPECT_TRUE(etag_matches("*", etag));
  EXPECT_FALSE(etag_matches("\"x\"", etag));
  EXPECT_FALSE(etag_matches("", etag));
}

// What the product serves: namespaces have finalize and no deletecollection.
TEST(Discovery, ServesTheCatalog) {
  const Discovery discovery(resource::test_catalog(), {});
  const std::string& core = discovery.resources("", "v1")->body;
  EXPECT_NE(core.find("namespaces/finalize"), std::string::npos);
  EXPECT_NE(core.find("namespaces/status"), std::string::npos);
  EXPECT_NE(discovery.resources("fairlead.dev", "v1alpha1"), nullptr);
  for (const ServedResource& served : discovery.served()) {
    EXPECT_FALSE(served.singular.empty()) << served.plural;
  }
}

// Models are named as clients of Kubernetes expect them.
TEST(OpenApi, NamesModels) {
  EXPECT_EQ(model_name(gadget_kind()), "io.k8s.api.core.v1.Gadget");
  EXPECT_EQ(model_name(widget_kind()), "com.example.demo.v1.Widget");
  resource::Kind lease = gadget_kind();
  lease.group = "coordination.k8s.io";
  EXPECT_EQ(model_name(lease), "io.k8s.api.coordination.v1.Gadget");
}

const Json* patch_operation(const Json& document, std::string_view path) {
  const Json* item = document.at("paths").as_object().if_contains(path);
  return item ? item->as_object().if_contains("patch") : nullptr;
}

// kubectl finds a PATCH with the kind, fieldValidation and dryRun, and its body types.
TEST(OpenApi, V3DescribesPatch) {
  const OpenApiV3 openapi(kinds_of(small_catalog()));
  const Document* document = openapi.document("apis/demo.example.com/v1");
  ASSERT_NE(document, nullptr);
  const Json parsed = json(document->body);
  const Json* patch =
      patch_operation(parsed, "/apis/demo.example.com/v1/namespaces/{namespace}/widgets/{name}");
  ASSERT_NE(patch, nullptr);
  EXPECT_EQ(text(patch->at("x-kubernetes-group-version-kind")),
            R"({"group":"demo.example.com","kind":"Widget","version":"v1"})");
  const std::string parameters = text(patch->at("parameters"));
  EXPECT_NE(parameters.find("\"fieldValidation\""), std::string::npos);
  EXPECT_NE(parameters.find("\"dryRun\""), std::string::npos);
  const JsonObject& content = patch->at("requestBody").at("content").as_object();
  EXPECT_TRUE(content.contains("application/merge-patch+json"));
  EXPECT_TRUE(content.contains("application/apply-patch+yaml"));
  EXPECT_FALSE(content.contains("application/strategic-merge-patch+json"));
  const Json core = json(openapi.document("api/v1")->body);
  EXPECT_TRUE(patch_operation(core, "/api/v1/namespaces/{namespace}/gadgets/{name}")
                  ->at("requestBody")
                  .at("content")
                  .as_object()
                  .contains("application/strategic-merge-patch+json"));
  EXPECT_EQ(patch->at("operationId").as_string(), "patchDemoExampleComV1NamespacedWidget");
}

// Schemas carry types, descriptions and the merge extensions; every $ref resolves.
TEST(OpenApi, V3DescribesSchemas) {
  const OpenApiV3 openapi(kinds_of(small_catalog()));
  const Json parsed = json(openapi.document("apis/demo.example.com/v1")->body);
  const JsonObject& schemas = parsed.at("components").at("schemas").as_object();
  const Json& widget = schemas.at("com.example.demo.v1.Widget");
  EXPECT_EQ(text(widget.at("x-kubernetes-group-version-kind")),
            R"([{"group":"demo.example.com","kind":"Widget","version":"v1"}])");
  const Json& spec = widget.at("properties").at("spec");
  EXPECT_EQ(text(spec.at("required")), R"(["size"])");
  EXPECT_EQ(text(spec.at("properties").at("size")),
            R"({"description":"How large.","type":"integer","format":"int64"})");
  EXPECT_EQ(spec.at("properties").at("ports").at("x-kubernetes-list-type").as_string(), "map");
  EXPECT_EQ(text(spec.at("properties").at("ports").at("x-kubernetes-list-map-keys")),
            R"(["port","protocol"])");
  EXPECT_EQ(spec.at("properties").at("box").at("x-kubernetes-map-type").as_string(), "atomic");
  const Json core = json(openapi.document("api/v1")->body);
  const Json& parts = core.at("components")
                          .at("schemas")
                          .at("io.k8s.api.core.v1.Gadget")
                          .at("properties")
                          .at("spec")
                          .at("properties")
                          .at("parts");
  EXPECT_EQ(parts.at("x-kubernetes-patch-merge-key").as_string(), "name");
  EXPECT_EQ(parts.at("x-kubernetes-patch-strategy").as_string(), "merge");

  const std::string& body = openapi.document("api/v1")->body;
  constexpr std::string_view kPrefix = "\"#/components/schemas/";
  for (std::size_t at = body.find(kPrefix); at != std::string::npos;
       at = body.find(kPrefix, at + 1)) {
    const std::size_t start = at + kPrefix.size();
    const std::string name = body.substr(start, body.find('"', start) - start);
    EXPECT_TRUE(core.at("components").at("schemas").as_object().contains(name)) << name;
  }
}

// The root index points at each document with the hash that document has.
TEST(OpenApi, V3RootCarriesHashes) {
  const OpenApiV3 openapi(kinds_of(small_catalog()));
  const Json root = json(openapi.root().body);
  EXPECT_EQ(root.at("paths").as_object().size(), 2u);
  EXPECT_EQ(root.at("paths").at("api/v1").at("serverRelativeURL").as_string(),
            "/openapi/v3/api/v1?hash=" + openapi.hash("api/v1"));
  EXPECT_EQ(openapi.hash("api/v1").size(), 128u);
  EXPECT_EQ(openapi.document("api/v9"), nullptr);
}

// Bytes of the sub-message or string in `field`, the first one.
std::string_view proto_field(std::string_view message, std::uint32_t field) {
  wire::ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == field) return reader.bytes();
  }
  return {};
}

// The value of the entry `name` in a list of named values at `field`.
std::string_view named_value(std::string_view message, std::uint32_t field, std::string_view name) {
  wire::ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == field && proto_field(reader.bytes(), 1) == name) {
      return proto_field(reader.bytes(), 2);
    }
  }
  return {};
}

// The protobuf form has definitions with types and extensions where gnostic's readers look.
TEST(OpenApi, V2EncodesGnostic) {
  const OpenApiV2 openapi(kinds_of(small_catalog()));
  const std::string_view document = openapi.protobuf().body;
  EXPECT_EQ(proto_field(document, 1), "2.0");
  const std::string_view definitions = proto_field(document, 9);
  const std::string_view widget = named_value(definitions, 1, "com.example.demo.v1.Widget");
  ASSERT_FALSE(widget.empty());
  EXPECT_EQ(proto_field(widget, 4), "Widget is a thing.");
  EXPECT_EQ(proto_field(proto_field(widget, 22), 1), "object");
  const std::string_view gvk = named_value(widget, 31, "x-kubernetes-group-version-kind");
  EXPECT_EQ(proto_field(gvk, 2), R"([{"group":"demo.example.com","kind":"Widget","version":"v1"}])"
                                 "\n");
  const std::string_view spec = named_value(proto_field(widget, 25), 1, "spec");
  EXPECT_EQ(proto_field(spec, 19), "size");
  const std::string_view size = named_value(proto_field(spec, 25), 1, "size");
  EXPECT_EQ(proto_field(size, 2), "int64");
  const std::string_view metadata = named_value(proto_field(widget, 25), 1, "metadata");
  EXPECT_EQ(proto_field(metadata, 1),
            "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  const std::string_view tags = named_value(proto_field(spec, 25), 1, "tags");
  EXPECT_EQ(proto_field(proto_field(proto_field(proto_field(tags, 23), 1), 22), 1), "string");

  const std::string_view path =
      named_value(proto_field(document, 8), 2,
                  "/apis/demo.example.com/v1/namespaces/{namespace}/widgets/{name}");
  const std::string_view patch = proto_field(path, 8);
  EXPECT_EQ(proto_field(patch, 5), "patchDemoExampleComV1NamespacedWidget");
  EXPECT_EQ(proto_field(patch, 7), "application/json-patch+json");
  bool has_dry_run = false;
  wire::ProtoReader parameters(patch);
  while (parameters.next()) {
    if (parameters.field() != 8) continue;
    const std::string_view query =
        proto_field(proto_field(proto_field(parameters.bytes(), 1), 2), 3);
    has_dry_run |= proto_field(query, 4) == "dryRun" && proto_field(query, 6) == "string";
  }
  EXPECT_TRUE(has_dry_run);
}

// The product's own documents are complete: every kind has its model in both versions.
TEST(OpenApi, CoversTheCatalog) {
  const OpenApiV3 v3(kinds_of(resource::test_catalog()));
  const Json v2 = make_openapi_v2(kinds_of(resource::test_catalog()));
  for (const auto& kind : resource::test_catalog().kinds()) {
    const std::string path =
        kind->group.empty() ? "api/" + kind->version : "apis/" + kind->group + "/" + kind->version;
    ASSERT_NE(v3.document(path), nullptr) << path;
    EXPECT_NE(v3.document(path)->body.find("\"" + model_name(*kind) + "\""), std::string::npos);
    EXPECT_TRUE(v2.at("definitions").as_object().contains(model_name(*kind)));
  }
}

// Reviews are described as what they are: only created, no lists, the answer in their status.
TEST(OpenApi, DescribesReviews) {
  const auto kinds = kinds_of(resource::review_catalog());
  const OpenApiV3 v3(kinds);
  const Document* document = v3.document("apis/authorization.k8s.io/v1");
  ASSERT_TRUE(document);
  const Json value = wire::parse_json(document->body)->value;
  const JsonObject& paths = wire::find(value, "paths")->get_object();
  ASSERT_EQ(paths.size(), 4u);
  for (const auto& path : paths) {
    const JsonObject& item = path.value().get_object();
    EXPECT_TRUE(item.contains("post")) << path.key();
    EXPECT_FALSE(item.contains("get")) << path.key();
  }
  const JsonObject& schemas = value.at("components").at("schemas").get_object();
  const std::string model = "io.k8s.api.authorization.v1.SelfSubjectAccessReview";
  ASSERT_TRUE(schemas.contains(model));
  EXPECT_FALSE(schemas.contains(model + "List"));
  const Json& review = schemas.at(model);
  EXPECT_EQ(review.at("x-kubernetes-group-version-kind").at(0).at("kind"),
            "SelfSubjectAccessReview");
  EXPECT_TRUE(wire::find(review, "properties.spec.properties.resourceAttributes.properties.verb"));
  EXPECT_TRUE(wire::find(review, "properties.status.properties.allowed"));
  const Json v2 = make_openapi_v2(kinds);
  EXPECT_TRUE(
      v2.at("definitions").get_object().contains("io.k8s.api.authentication.v1.TokenReview"));
}

}  // namespace
}  // namespace fairlead::apimachinery
