#include "api/apiserver/request.h"

#include <optional>

#include "api/apimachinery/openapi/discovery.h"
#include "api/apimachinery/partial_metadata.h"
#include "api/apimachinery/request/strict_decoding.h"
#include "api/apimachinery/table.h"
#include "foundation/base/check.h"
#include "foundation/http/gzip.h"
#include "foundation/wire/yaml.h"

namespace fairlead::apiserver {
namespace {

constexpr std::size_t kGzipFrom = 128 << 10;
constexpr int kGzipLevel = 1;

http::Headers common_headers(Request& request, std::string_view content_type) {
  http::Headers headers;
  headers.add("Audit-Id", request.audit_id);
  headers.add("Cache-Control", "no-cache, private");
  if (!content_type.empty()) headers.add("Content-Type", std::string(content_type));
  if (!request.warnings.empty())
    for (std::string& warning : apimachinery::warning_headers(request.warnings))
      headers.add("Warning", std::move(warning));
  return headers;
}

Task<Result<>> send(Request& request, int status, http::Headers headers, std::vector<Bytes> body) {
  http::Response response{.status = status, .headers = std::move(headers), .body = std::move(body)};
  if (response.body_size() > kGzipFrom && wants_gzip(request)) {
    Result<std::string> packed = http::gzip(response.body, kGzipLevel);
    if (packed) {
      response.headers.add("Content-Encoding", "gzip");
      response.headers.add("Vary", "Accept-Encoding");
      response.body.clear();
      response.body.emplace_back(std::move(*packed));
    }
  }
  request.answered = status;
  co_return co_await request.exchange.respond(std::move(response));
}

std::string encode(const Json& value, const apimachinery::Representation& form) {
  if (form.format == apimachinery::Format::yaml) return wire::encode_yaml(value);
  std::string text = form.pretty ? wire::encode_json_pretty(value) : wire::encode_json(value);
  text.push_back('\n');
  return text;
}

Json decode_served(const Bytes& object) {
  auto parsed = wire::parse_json(object.view());
  CHECK(parsed);
  return std::move(parsed->value);
}

}  // namespace

bool wants_gzip(const Request& request) {
  return apimachinery::accepts_gzip(request.header("Accept-Encoding"));
}

Task<Result<>> send_bytes(Request& request, int status, std::string_view content_type,
                          std::vector<Bytes> body) {
  co_return co_await send(request, status, common_headers(request, content_type), std::move(body));
}

Task<Result<>> send_json(Request& request, int status, const Json& value,
                         const apimachinery::Representation& form) {
  std::vector<Bytes> body;
  body.emplace_back(encode(value, form));
  co_return co_await send(request, status, common_headers(request, form.content_type()),
                          std::move(body));
}

Task<Result<>> send_status(Request& request, apimachinery::Status status) {
  http::Headers headers = common_headers(request, kJsonType);
  if (status.details && status.details->retry_after_seconds > 0)
    headers.add("Retry-After", std::to_string(status.details->retry_after_seconds));
  if (status.code == 401) headers.add("WWW-Authenticate", "Bearer");
  std::vector<Bytes> body;
  body.emplace_back(encode(status.to_json(), {}));
  co_return co_await send(request, status.code, std::move(headers), std::move(body));
}

Task<Result<>> send_text(Request& request, int status, std::string text) {
  std::vector<Bytes> body;
  body.emplace_back(std::move(text));
  co_return co_await send_bytes(request, status, "text/plain; charset=utf-8", std::move(body));
}

Task<Result<>> send_document(Request& request, std::string_view content_type,
                             const std::string& body, const std::string& etag) {
  http::Headers headers = common_headers(request, content_type);
  headers.set("Cache-Control", "public");
  headers.add("ETag", etag);
  headers.add("Vary", "Accept");
  std::vector<Bytes> pieces;
  int status = 304;
  if (!apimachinery::etag_matches(request.header("If-None-Match"), etag)) {
    status = 200;
    pieces.push_back(Bytes::literal(body));  // documents live as long as the server
  }
  co_return co_await send(request, status, std::move(headers), std::move(pieces));
}

Task<Result<>> send_object(Request& request, int status, Bytes object,
                           const apimachinery::Representation& form, resource::Moment now) {
  using apimachinery::Shape;
  if (request.kind->view)
    object = Bytes(wire::encode_json(request.kind->shown(decode_served(object))));
  if (form.shape == Shape::object && form.format == apimachinery::Format::json && !form.pretty) {
    std::vector<Bytes> body;
    body.push_back(std::move(object));
    body.push_back(Bytes::literal("\n"));
    co_return co_await send_bytes(request, status, form.content_type(), std::move(body));
  }
  const Json value = decode_served(object);
  if (form.shape == Shape::object) co_return co_await send_json(request, status, value, form);
  if (form.shape == Shape::table) {
    const auto include =
        apimachinery::parse_include_object(request.query.get_or_empty("includeObject"));
    if (!include) co_return co_await send_status(request, include.error());
    const Json* const objects[] = {&value};
    const apimachinery::ListMeta meta{
        .resource_version = std::string(wire::find_string(value, "metadata.resourceVersion")),
        .continue_token = {},
        .remaining = {}};
    const Json table = apimachinery::make_table(*request.kind, objects, meta,
                                                {.meta_version = form.meta_version,
                                                 .include = *include,
                                                 .column_definitions = true,
                                                 .now = now});
    co_return co_await send_json(request, status, table, form);
  }
  const Json partial = apimachinery::make_partial_metadata(value, form.meta_version);
  co_return co_await send_json(request, status, partial, form);
}

Task<Result<>> send_pieces(Request& request, Turns& turns, std::string_view content_type,
                           std::function<std::string()> next) {
  http::ResponseHead head = stream_head(request, content_type);
  std::optional<http::Gzip> packer;
  if (wants_gzip(request)) {
    packer.emplace(kGzipLevel);
    head.headers.add("Content-Encoding", "gzip");
    head.headers.add("Vary", "Accept-Encoding");
  }
  bool ended = false;
  Result<> packed;
  auto make_piece = [&] {
    std::string piece = next();
    ended = piece.empty();
    if (!packer) return piece;
    std::string out;
    packed = ended ? packer->finish(out) : packer->add(piece, out);
    return out;
  };
  FL_CO_CHECKED(co_await request.exchange.start(std::move(head)));
  while (!ended) {
    FL_CO_TRY(std::string piece, co_await turns.take(make_piece));
    if (!packed) co_return packed;
    FL_CO_CHECKED(co_await request.exchange.write(Bytes(std::move(piece))));
  }
  co_return co_await request.exchange.finish();
}

http::ResponseHead stream_head(Request& request, std::string_view content_type) {
  request.answered = 200;
  return {.status = 200, .headers = common_headers(request, content_type)};
}

}  // namespace fairlead::apiserver
