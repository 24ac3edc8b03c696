#include "api/apiserver/documents.h"

#include "api/apiserver/version.h"
#include "api/resource/core/reviews.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::Document;

constexpr std::string_view kOpenApiV3 = "/openapi/v3";
constexpr std::string_view kAggregatedV2 =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
constexpr std::string_view kAggregatedV2Beta =
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

std::string_view without_trailing_slash(std::string_view path) {
  return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

}  // namespace

Documents::Documents(const resource::Catalog& catalog,
                     const std::vector<apimachinery::ServedResource>& reviews)
    : discovery_(catalog, reviews) {
  for (const auto& kind : catalog.kinds()) kinds_.push_back(kind.get());
  if (reviews.empty()) return;
  for (const auto& kind : resource::review_catalog().kinds()) kinds_.push_back(kind.get());
}

bool Documents::serves(std::string_view path) const {
  return path == "/version" || path == "/openapi/v2" || path == "/api" || path == "/apis" ||
         path.starts_with("/api/") || path.starts_with("/apis/") || path == kOpenApiV3 ||
         path.starts_with("/openapi/v3/");
}

Task<Result<>> Documents::serve(Request& request) {
  const std::string_view path = request.info.path;
  if (request.exchange.request().method != "GET" && request.exchange.request().method != "HEAD")
    co_return co_await send_text(request, 405, "405 method not allowed\n");
  if (path == "/version") {
    const Json version = version_document();
    co_return co_await send_json(request, 200, version);
  }
  if (path == "/openapi/v2") co_return co_await serve_openapi_v2(request);
  if (path.starts_with(kOpenApiV3)) co_return co_await serve_openapi_v3(request);
  co_return co_await serve_discovery(request);
}

Task<Result<>> Documents::serve_discovery(Request& request) {
  const std::string path(without_trailing_slash(request.info.path));
  const bool core = path == "/api";
  if (core || path == "/apis") {
    const auto form = apimachinery::negotiate(request.header("Accept"), {.discovery = true});
    if (!form) co_return co_await send_status(request, form.error());
    const bool beta = form->shape == apimachinery::Shape::discovery_v2beta1;
    if (beta || form->shape == apimachinery::Shape::discovery_v2) {
      const Document& document =
          core ? discovery_.aggregated_core(beta) : discovery_.aggregated_groups(beta);
      co_return co_await send_document(request, beta ? kAggregatedV2Beta : kAggregatedV2,
                                       document.body, document.etag);
    }
  }
  const Document* document = nullptr;
  if (core) {
    document = discovery_.core_versions();
  } else if (path == "/apis") {
    document = &discovery_.groups();
  } else if (path.starts_with("/api/")) {
    document = discovery_.resources("", std::string_view(path).substr(5));
  } else {
    const std::string_view rest = std::string_view(path).substr(6);
    const std::size_t slash = rest.find('/');
    document = slash == std::string_view::npos
                   ? discovery_.group(rest)
                   : discovery_.resources(rest.substr(0, slash), rest.substr(slash + 1));
  }
  if (!document) co_return co_await send_text(request, 404, "404 page not found\n");
  co_return co_await send_document(request, kJsonType, document->body, document->etag);
}

Task<Result<>> Documents::serve_openapi_v2(Request& request) {
  const auto format = apimachinery::negotiate_openapi_v2(request.header("Accept"));
  if (!format) co_return co_await send_status(request, format.error());
  if (!openapi_v2_) openapi_v2_.emplace(kinds_);
  const bool protobuf = *format == apimachinery::OpenApiFormat::protobuf;
  const Document& document = protobuf ? openapi_v2_->protobuf() : openapi_v2_->json();
  co_return co_await send_document(request, protobuf ? apimachinery::kOpenApiV2Protobuf : kJsonType,
                                   document.body, document.etag);
}

Task<Result<>> Documents::serve_openapi_v3(Request& request) {
  const auto format = apimachinery::negotiate_openapi_v3(request.header("Accept"));
  if (!format) co_return co_await send_status(request, format.error());
  if (!openapi_v3_) openapi_v3_.emplace(kinds_);
  const std::string path(without_trailing_slash(request.info.path));
  if (path == kOpenApiV3)
    co_return co_await send_document(request, kJsonType, openapi_v3_->root().body,
                                     openapi_v3_->root().etag);
  const std::string name = path.substr(kOpenApiV3.size() + 1);
  const Document* document = openapi_v3_->document(name);
  if (!document) co_return co_await send_text(request, 404, "404 page not found\n");
  const std::string_view hash = request.query.get_or_empty("hash");
  if (!hash.empty() && hash != openapi_v3_->hash(name)) {
    request.answered = 301;
    co_return co_await request.exchange.respond(
        {.status = 301, .headers = {{"Location", openapi_v3_->url(name)}}, .body = {}});
  }
  co_return co_await send_document(request, kJsonType, document->body, document->etag);
}

}  // namespace fairlead::apiserver
