// RestClient: requests to a Kubernetes-style API (ours or kube-apiserver), objects as JSON values.
//
// One http::Client below: over HTTP/2 every request and every watch of the process shares one
// connection. Answers are objects or Errors; a Status becomes an Error whose code says what to do:
//
//   400, 422       invalid           401       unauthorized       403  forbidden
//   404            not_found         410       gone               503  unavailable
//   405, 406, 415  unsupported       413, 429  exhausted
//   409            already_exists or conflict, by its reason
//   all others     timeout: the request may or may not have been carried out
//
// Requests that are answered 429 or 503 with Retry-After are retried, at most `retries` times.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity/authority.h"
#include "api/identity/kubeconfig.h"
#include "api/resource/kind.h"
#include "foundation/base/result.h"
#include "foundation/http/client.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/json.h"

namespace fairlead::client {

// Which collection: group, version, plural.
struct ResourceName {
  std::string group;
  std::string version;
  std::string plural;
  bool namespaced = true;

  static ResourceName of(const resource::Kind& kind) {
    return {kind.group, kind.version, kind.plural, kind.namespaced};
  }
  // "/apis/example.com/v1/namespaces/a/widgets/b/status"; empty parts are left out.
  std::string path(std::string_view namespace_name, std::string_view name,
                   std::string_view subresource = {}) const;
};

struct ListQuery {
  std::string namespace_name;  // empty: all
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;
  std::string continue_token;
  std::size_t limit = 0;
};

struct ListResult {
  std::vector<Json> items;
  std::string resource_version;
  std::string continue_token;
};

struct WatchEvent {
  enum class Type { added, modified, deleted, bookmark };
  // Never assigned, only moved: `object` must be destroyed before `memory`.
  WatchEvent(Type what, std::unique_ptr<JsonArena> arena, Json value)
      : type(what), memory(std::move(arena)), object(std::move(value)) {}
  WatchEvent(WatchEvent&&) = default;
  WatchEvent& operator=(WatchEvent&&) = delete;

  Type type;
  std::unique_ptr<JsonArena> memory;  // holds the object
  Json object;                        // without metadata.managedFields, which would double its size
};

class WatchStream {
 public:
  virtual ~WatchStream() = default;
  // The next event; nullopt when the server ended the stream. An ERROR event is an Error (gone:
  // list again).
  virtual Task<Result<std::optional<WatchEvent>>> next() = 0;
};

enum class PatchKind { json, merge, strategic, apply };

struct RestOptions {
  std::string user_agent = "fairlead";
  int retries = 10;
  Duration request_time = 34s;
  Duration connect_time = 5s;
  bool http2_without_tls = false;  // for http:// servers that are known to speak HTTP/2
  // Further addresses of the same API; the configuration's own comes first.
  std::vector<runtime::Endpoint> endpoints;
};

class RestClient {
 public:
  static Result<std::unique_ptr<RestClient>> open(runtime::Runtime& runtime,
                                                  identity::ClientConfig config,
                                                  RestOptions options = {});
  ~RestClient();

  Task<Result<Json>> get(ResourceName resource, std::string namespace_name, std::string name);
  Task<Result<ListResult>> list(ResourceName resource, ListQuery query);
  Task<Result<std::unique_ptr<WatchStream>>> watch(ResourceName resource, ListQuery query,
                                                   std::chrono::seconds timeout);
  Task<Result<Json>> create(ResourceName resource, std::string namespace_name, Json object);
  // Name and namespace come from the object; `subresource` "" or "status".
  Task<Result<Json>> update(ResourceName resource, Json object, std::string subresource = {});
  Task<Result<Json>> patch(ResourceName resource, std::string namespace_name, std::string name,
                           PatchKind kind, Json patch, std::string subresource = {});
  Task<Result<>> remove(ResourceName resource, std::string namespace_name, std::string name,
                        std::string uid = {});
  // Fairlead's own: several writes, all or nothing.
  Task<Result<Json>> transact(Json operations);

  // Anything else: a raw path.
  Task<Result<Json>> call(std::string method, std::string target, std::optional<Json> body,
                          std::string content_type = "application/json");

  // Replaces the client certificate and the trusted authority for new requests; if they differ from
  // the current ones, new requests use a new connection. Server and token stay as they are.
  void use_credentials(const identity::ClientConfig& config);

  // Requests from now on use new connections: the present ones may lead nowhere.
  void renew_connections() { http_.renew_connections(); }

  void close();
  runtime::Runtime& runtime() { return runtime_; }

 private:
  class LineStream;
  RestClient(runtime::Runtime& runtime, identity::ClientConfig config, RestOptions options,
             http::ClientOptions transport);
  http::Request make_request(std::string method, std::string target);
  void refresh_token();

  runtime::Runtime& runtime_;
  identity::ClientConfig config_;
  RestOptions options_;
  std::string base_path_;
  std::string authority_;
  std::string host_;
  std::string token_;
  Instant token_read_{};
  std::shared_ptr<identity::SwappableTls> tls_;  // null: http
  http::Client http_;
};

// The Error a Status answer stands for.
Error error_of_status(int code, const Json& status);

}  // namespace fairlead::client
