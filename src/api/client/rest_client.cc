#include "api/client/rest_client.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/apimachinery/status.h"
#include "api/client/server_url.h"
#include "api/identity/authority.h"
#include "foundation/base/encoding.h"

namespace fairlead::client {
namespace {

constexpr Duration kTokenFileInterval = 60s;
constexpr std::size_t kMaxWatchFrame = 16 << 20;
constexpr std::chrono::seconds kLongestRetryAfter{30};

void add_parameter(std::string& target, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  target.push_back(target.find('?') == std::string::npos ? '?' : '&');
  target.append(name).push_back('=');
  target.append(encode_percent(value));
}

std::string list_target(const ResourceName& resource, const ListQuery& query) {
  std::string target = resource.path(query.namespace_name, "");
  add_parameter(target, "labelSelector", query.label_selector);
  add_parameter(target, "fieldSelector", query.field_selector);
  add_parameter(target, "resourceVersion", query.resource_version);
  add_parameter(target, "continue", query.continue_token);
  if (query.limit) add_parameter(target, "limit", std::to_string(query.limit));
  return target;
}

std::string_view content_type_of(PatchKind kind) {
  switch (kind) {
    case PatchKind::json:
      return "application/json-patch+json";
    case PatchKind::merge:
      return "application/merge-patch+json";
    case PatchKind::strategic:
      return "application/strategic-merge-patch+json";
    case PatchKind::apply:
      return "application/apply-patch+yaml";
  }
  return "";
}

Result<Json> decode_answer(const http::Response& response) {
  const std::string text = response.body_text();
  Result<wire::ParsedJson> parsed = wire::parse_json(text, {.max_bytes = std::size_t{1} << 30});
  if (response.status >= 400) {
    // Proxies and plain handlers answer in text.
    const Json status = parsed ? std::move(parsed->value) : Json(JsonObject{{"message", text}});
    return fail(error_of_status(response.status, status));
  }
  if (!parsed) return fail(std::move(parsed).error().context("answer of the API"));
  return std::move(parsed->value);
}

runtime::TlsCredentials credentials_of(const identity::ClientConfig& config,
                                       const std::string& host) {
  return {.certificate_chain = config.client_certificate,
          .private_key = config.client_key,
          .trusted_ca = config.ca,
          .server_name = config.tls_server_name.empty() ? host : config.tls_server_name,
          .alpn = {"h2", "http/1.1"},
          .skip_verify = config.insecure_skip_tls_verify};
}

std::optional<Duration> retry_after(const http::Response& response) {
  if (response.status != 429 && response.status != 503) return std::nullopt;
  const std::string_view text = response.headers.get("Retry-After");
  int seconds = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), seconds).ec != std::errc{})
    return std::nullopt;
  return std::clamp(std::chrono::seconds(seconds), std::chrono::seconds(1), kLongestRetryAfter);
}

}  // namespace

Error error_of_status(int code, const Json& status) {
  apimachinery::Status told;
  told.code = code;
  told.reason = wire::find_string(status, "reason");
  told.message = wire::find_string(status, "message");
  if (told.message.empty()) told.message = "the API answered " + std::to_string(code);
  Error error = apimachinery::error_of(told);
  // What fails with anything else may have been carried out all the same.
  const bool unknown = error.code == Code::internal || error.code == Code::unavailable;
  if (unknown && code != 503) error.code = Code::timeout;
  return error;
}

std::string ResourceName::path(std::string_view namespace_name, std::string_view name,
                               std::string_view subresource) const {
  std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  const auto add = [&path](std::string_view part) {
    path.push_back('/');
    path.append(encode_percent(part));
  };
  if (namespaced && !namespace_name.empty()) {
    add("namespaces");
    add(namespace_name);
  }
  add(plural);
  if (!name.empty()) add(name);
  if (!subresource.empty()) add(subresource);
  return path;
}

Result<std::unique_ptr<RestClient>> RestClient::open(runtime::Runtime& runtime,
                                                     identity::ClientConfig config,
                                                     RestOptions options) {
  FL_CHECKED(identity::check_config(config));
  FL_TRY(ServerUrl url, parse_server_url(config.server));
  http::ClientOptions transport;
  transport.http2_prior_knowledge = !url.tls && options.http2_without_tls;
  transport.connect_time = options.connect_time;
  transport.endpoints.push_back(url.endpoint);
  std::ranges::copy(options.endpoints, std::back_inserter(transport.endpoints));
  std::shared_ptr<identity::SwappableTls> tls;
  if (url.tls) {
    tls = std::make_shared<identity::SwappableTls>(credentials_of(config, url.endpoint.host));
    transport.tls = tls;
  }
  std::unique_ptr<RestClient> client(
      new RestClient(runtime, std::move(config), std::move(options), std::move(transport)));
  client->base_path_ = std::move(url.path);
  client->authority_ = std::move(url.authority);
  client->host_ = url.endpoint.host;
  client->tls_ = std::move(tls);
  return client;
}

void RestClient::use_credentials(const identity::ClientConfig& config) {
  if (!tls_) return;
  runtime::TlsCredentials credentials = credentials_of(config, host_);
  if (*tls_->current() == credentials) return;
  tls_->swap(std::move(credentials));
  // A connection is who it was when it began, for as long as it lasts: with a watch on it, for
  // ever.
  http_.renew_connections();
}

RestClient::RestClient(runtime::Runtime& runtime, identity::ClientConfig config,
                       RestOptions options, http::ClientOptions transport)
    : runtime_(runtime),
      config_(std::move(config)),
      options_(std::move(options)),
      token_(config_.token),
      http_(runtime, std::move(transport)) {}

RestClient::~RestClient() = default;

void RestClient::close() { http_.close(); }

void RestClient::refresh_token() {
  if (config_.token_file.empty()) return;
  if (token_read_ != Instant{} && runtime_.now() - token_read_ < kTokenFileInterval) return;
  token_read_ = runtime_.now();
  Result<std::string> text = runtime_.files().read(config_.token_file);
  if (!text) return;  // the last one that could be read stays in use
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  token_ = std::move(*text);
}

http::Request RestClient::make_request(std::string method, std::string target) {
  refresh_token();
  http::Request request{
      .method = std::move(method),
      .target = base_path_ + target,
      .authority = authority_,
      .headers = {{"Accept", "application/json"}, {"User-Agent", options_.user_agent}}};
  if (!token_.empty()) request.headers.add("Authorization", "Bearer " + token_);
  return request;
}

Task<Result<Json>> RestClient::call(std::string method, std::string target,
                                    std::optional<Json> body, std::string content_type) {
  std::string text;
  if (body) text = wire::encode_json(*body);
  for (int attempt = 0;; ++attempt) {
    http::Request request = make_request(method, target);
    if (body) {
      request.headers.add("Content-Type", content_type);
      request.body = text;
    }
    Task<Result<http::Response>> sending = http_.send(std::move(request));
    Result<http::Response> response =
        co_await runtime::with_timeout(runtime_, options_.request_time, std::move(sending));
    if (!response) co_return fail(std::move(response).error().context(method + " " + target));
    const std::optional<Duration> wait = retry_after(*response);
    if (!wait || attempt >= options_.retries) co_return decode_answer(*response);
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, *wait));
  }
}

Task<Result<Json>> RestClient::get(ResourceName resource, std::string namespace_name,
                                   std::string name) {
  co_return co_await call("GET", resource.path(namespace_name, name), std::nullopt);
}

Task<Result<ListResult>> RestClient::list(ResourceName resource, ListQuery query) {
  FL_CO_TRY(Json answer, co_await call("GET", list_target(resource, query), std::nullopt));
  ListResult result;
  result.resource_version = wire::find_string(answer, "metadata.resourceVersion");
  result.continue_token = wire::find_string(answer, "metadata.continue");
  Json* items = wire::find(answer, "items");
  if (!items) co_return fail(Code::corrupt, "the list has no items");
  if (items->is_array())
    for (Json& item : items->get_array()) result.items.push_back(std::move(item));
  co_return result;
}

Task<Result<Json>> RestClient::create(ResourceName resource, std::string namespace_name,
                                      Json object) {
  co_return co_await call("POST", resource.path(namespace_name, ""), std::move(object));
}

Task<Result<Json>> RestClient::update(ResourceName resource, Json object, std::string subresource) {
  const std::string target = resource.path(wire::find_string(object, "metadata.namespace"),
                                           wire::find_string(object, "metadata.name"), subresource);
  co_return co_await call("PUT", target, std::move(object));
}

Task<Result<Json>> RestClient::patch(ResourceName resource, std::string namespace_name,
                                     std::string name, PatchKind kind, Json patch,
                                     std::string subresource) {
  std::string target = resource.path(namespace_name, name, subresource);
  if (kind == PatchKind::apply) add_parameter(target, "fieldManager", options_.user_agent);
  co_return co_await call("PATCH", std::move(target), std::move(patch),
                          std::string(content_type_of(kind)));
}

Task<Result<>> RestClient::remove(ResourceName resource, std::string namespace_name,
                                  std::string name, std::string uid) {
  std::optional<Json> body;
  if (!uid.empty()) body = JsonObject{{"preconditions", JsonObject{{"uid", uid}}}};
  FL_CO_CHECKED(co_await call("DELETE", resource.path(namespace_name, name), std::move(body)));
  co_return Result<>{};
}

Task<Result<Json>> RestClient::transact(Json operations) {
  Json body = JsonObject{{"apiVersion", "fairlead.dev/v1alpha1"},
                         {"kind", "Transaction"},
                         {"operations", std::move(operations)}};
  co_return co_await call("POST", "/apis/fairlead.dev/v1alpha1/transactions", std::move(body));
}

// One JSON object per line.
class RestClient::LineStream final : public WatchStream {
 public:
  explicit LineStream(std::unique_ptr<http::ClientStream> stream) : stream_(std::move(stream)) {}

  Task<Result<std::optional<WatchEvent>>> next() override {
    for (;;) {
      const std::size_t end = buffer_.find('\n', scanned_);
      if (end != std::string::npos) {
        Result<WatchEvent> event = decode(std::string_view(buffer_).substr(start_, end - start_));
        start_ = scanned_ = end + 1;
        if (!event) co_return fail(std::move(event).error());
        co_return std::optional<WatchEvent>(std::move(*event));
      }
      buffer_.erase(0, std::exchange(start_, 0));
      scanned_ = buffer_.size();
      if (buffer_.size() > kMaxWatchFrame)
        co_return fail(Code::exhausted, "a watch event is larger than 16 MiB");
      FL_CO_TRY(const std::optional<Bytes> piece, co_await stream_->read());
      if (!piece) co_return std::optional<WatchEvent>();
      buffer_.append(piece->view());
    }
  }

 private:
  static std::optional<WatchEvent::Type> type_of(std::string_view name) {
    using enum WatchEvent::Type;
    if (name == "ADDED") return added;
    if (name == "MODIFIED") return modified;
    if (name == "DELETED") return deleted;
    if (name == "BOOKMARK") return bookmark;
    return std::nullopt;
  }

  static constexpr std::string_view kNotTold[] = {"object.metadata.managedFields"};

  static Result<WatchEvent> decode(std::string_view line) {
    auto memory = std::make_unique<JsonArena>(2 * line.size());
    FL_TRY(wire::ParsedJson parsed,
           wire::parse_json(line, {.memory = memory.get(), .skip = kNotTold}));
    const std::string_view name = wire::find_string(parsed.value, "type");
    Json* object = wire::find(parsed.value, "object");
    if (!object) return fail(Code::corrupt, "a watch event has no object");
    if (name == "ERROR") {
      const Json* code = wire::find(*object, "code");
      return fail(error_of_status(
          code && code->is_int64() ? static_cast<int>(code->get_int64()) : 500, *object));
    }
    const std::optional<WatchEvent::Type> type = type_of(name);
    if (!type) return fail(Code::corrupt, "unknown watch event type");
    return WatchEvent(*type, std::move(memory), std::move(*object));
  }

  std::unique_ptr<http::ClientStream> stream_;
  std::string buffer_;
  std::size_t start_ = 0;    // of the line that is being read
  std::size_t scanned_ = 0;  // no line end before this
};

Task<Result<std::unique_ptr<WatchStream>>> RestClient::watch(ResourceName resource, ListQuery query,
                                                             std::chrono::seconds timeout) {
  std::string target = list_target(resource, query);
  add_parameter(target, "watch", "true");
  add_parameter(target, "allowWatchBookmarks", "true");
  add_parameter(target, "timeoutSeconds", std::to_string(timeout.count()));
  FL_CO_TRY(std::unique_ptr<http::ClientStream> stream,
            co_await http_.open(make_request("GET", std::move(target))));
  Task<Result<http::ResponseHead>> waiting = stream->head();
  FL_CO_TRY(const http::ResponseHead head,
            co_await runtime::with_timeout(runtime_, options_.request_time, std::move(waiting)));
  if (head.status != 200) {
    std::string text;
    while (text.size() < (64 << 10)) {
      FL_CO_TRY(const std::optional<Bytes> piece, co_await stream->read());
      if (!piece) break;
      text.append(piece->view());
    }
    Result<wire::ParsedJson> status = wire::parse_json(text);
    co_return fail(error_of_status(head.status, status ? status->value : Json(JsonObject{})));
  }
  co_return std::make_unique<LineStream>(std::move(stream));
}

}  // namespace fairlead::client
