// For tests only: a whole API server on the model store, asked without a network. Time stands still
// until the test moves it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/apiserver/api_server.h"
#include "api/apiserver/cluster_defaults.h"
#include "api/resource/test_kinds.h"
#include "api/store/memory_store.h"
#include "foundation/base/check.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"
#include "foundation/wire/json.h"

namespace fairlead::apiserver {

// A request and what became of it.
class TestExchange final : public http::Exchange {
 public:
  TestExchange(http::Request request, runtime::PeerInfo peer)
      : request_(std::move(request)), peer_(std::move(peer)) {}

  const http::Request& request() const override { return request_; }
  http::Request& request() override { return request_; }
  const runtime::PeerInfo& peer() const override { return peer_; }
  Task<Result<>> respond(http::Response response) override {
    status = response.status;
    headers = std::move(response.headers);
    for (const Bytes& piece : response.body) text.append(piece.view());
    ended = true;
    co_return Result<>{};
  }
  Task<Result<>> start(http::ResponseHead head) override {
    status = head.status;
    headers = std::move(head.headers);
    co_return Result<>{};
  }
  Task<Result<>> write(Bytes piece) override {
    text.append(piece.view());
    co_return Result<>{};
  }
  Task<Result<>> finish() override {
    ended = true;
    co_return Result<>{};
  }

  // The body as JSON; null when it is none.
  Json json() const {
    auto parsed = wire::parse_json(text);
    return parsed ? std::move(parsed->value) : Json();
  }
  // The string at a dotted path of it.
  std::string at(std::string_view path) const {
    const Json value = json();
    return std::string(wire::find_string(value, path));
  }

  int status = 0;
  http::Headers headers;
  std::string text;
  bool ended = false;

 private:
  http::Request request_;
  runtime::PeerInfo peer_;
};

// The users: each one's name is also its bearer token.
inline identity::TokenTable test_users() {
  identity::TokenTable table;
  const auto add = [&table](std::string name, std::vector<std::string> groups) {
    table.add(name, std::make_shared<identity::User>(identity::with_authenticated_group(
                        {.name = name, .uid = {}, .groups = std::move(groups), .extra = {}})));
  };
  add("admin", {std::string(identity::kMastersGroup)});
  add("viewer", {std::string(identity::kViewersGroup)});
  add("controller", {std::string(identity::kControllersGroup)});
  add("nobody", {});
  for (const char* node : {"n1", "n2"}) {
    table.add(node, std::make_shared<identity::User>(
                        identity::with_authenticated_group(identity::node_user(node))));
  }
  return table;
}

class TestServer {
 public:
  // `further`: authenticators asked before the tokens. `instead`: an authorizer that replaces the
  // built-in roles; outlives the server.
  explicit TestServer(std::vector<std::shared_ptr<identity::Authenticator>> further = {},
                      ApiServerOptions its_options = {}, identity::Authorizer* instead = nullptr)
      : TestServer(resource::test_catalog(), std::move(further), its_options, instead) {}
  // With the kinds of a feature.
  explicit TestServer(const resource::Catalog& its_catalog,
                      std::vector<std::shared_ptr<identity::Authenticator>> further = {},
                      ApiServerOptions its_options = {}, identity::Authorizer* instead = nullptr)
      : catalog(its_catalog),
        authenticator(with_tokens(std::move(further)), true),
        authorizer(instead ? *instead : static_cast<identity::Authorizer&>(roles)),
        options(its_options) {
    // 2030: certificates and ages look as they would.
    runtime.advance_without_running(
        std::chrono::sys_days{std::chrono::year{2030} / 6 / 1}.time_since_epoch());
    fibers.spawn(follow(cache));
    fibers.spawn(prepare(*this));
    runtime.settle();
    CHECK(prepared_);
  }

  // Asks and waits for the answer. A body is JSON unless `type` says otherwise.
  std::unique_ptr<TestExchange> ask(std::string_view user, std::string_view method,
                                    std::string_view target, std::string body = {},
                                    std::string_view type = "application/json") {
    auto exchange = begin(user, method, target, std::move(body), type);
    CHECK(exchange->ended);
    return exchange;
  }
  // Asks; the answer may go on (a watch). Keep what is returned as long as the server.
  std::unique_ptr<TestExchange> begin(std::string_view user, std::string_view method,
                                      std::string_view target, std::string body = {},
                                      std::string_view type = "application/json",
                                      runtime::PeerInfo peer = {}) {
    http::Request request;
    request.method = method;
    request.target = target;
    request.authority = "test";
    request.body = std::move(body);
    if (!user.empty()) request.headers.add("Authorization", "Bearer " + std::string(user));
    if (!request.body.empty()) request.headers.add("Content-Type", std::string(type));
    auto exchange = std::make_unique<TestExchange>(std::move(request), std::move(peer));
    fibers.spawn(api.serve(*exchange));
    runtime.settle();
    return exchange;
  }
  // An object made by the administrator; the test is wrong if that fails.
  Json create(std::string_view collection, const Json& object) {
    const auto made = ask("admin", "POST", collection, wire::encode_json(object));
    if (made->status != 201) check_failed(made->text.c_str(), __FILE__, __LINE__);
    return made->json();
  }
  bool exists(std::string_view target) { return ask("admin", "GET", target)->status == 200; }

  runtime::ManualRuntime runtime;
  store::MemoryStore store{runtime};
  metrics::Registry metrics;
  const resource::Catalog& catalog;
  watchcache::WatchCache cache{runtime, store, catalog};
  NodeIndex nodes{catalog, cache};
  identity::UnionAuthenticator authenticator;
  identity::RoleAuthorizer roles{catalog, &nodes};
  identity::Authorizer& authorizer;
  const ApiServerOptions options;
  ApiServer api{{.runtime = runtime,
                 .store = store,
                 .cache = cache,
                 .catalog = catalog,
                 .nodes = nodes,
                 .authenticator = authenticator,
                 .authorizer = authorizer,
                 .metrics = metrics},
                options};

 private:
  static std::vector<std::shared_ptr<identity::Authenticator>> with_tokens(
      std::vector<std::shared_ptr<identity::Authenticator>> members) {
    members.push_back(std::make_shared<identity::TokenAuthenticator>(test_users()));
    return members;
  }
  static Task<void> follow(watchcache::WatchCache& cache) { (void)co_await cache.run(); }
  static Task<void> prepare(TestServer& server) {
    const Result<> done =
        co_await ensure_defaults(server.runtime, server.cache, server.catalog, server.api.writer());
    server.prepared_ = done.has_value();
  }

  bool prepared_ = false;

 public:
  runtime::Scope fibers{runtime};
};

}  // namespace fairlead::apiserver
