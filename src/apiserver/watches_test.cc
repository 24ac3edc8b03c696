#include "apiserver/watches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "resource/catalog.h"
#include "runtime/manual_runtime.h"
#include "store/memory_store.h"
#include "watchcache/stored_object.h"

namespace fairlead::apiserver {
namespace {

const resource::Kind& config_maps() {
  return *resource::builtin_catalog().find("", "v1", "configmaps");
}

// A client that takes nothing until it is told to.
class SlowClient final : public http::Exchange {
 public:
  const http::Request& request() const override { return request_; }
  http::Request& request() override { return request_; }
  const runtime::PeerInfo& peer() const override { return peer_; }
  Task<Result<>> respond(http::Response) override { co_return Result<>{}; }
  Task<Result<>> start(http::ResponseHead) override { co_return Result<>{}; }
  Task<Result<>> write(Bytes piece) override {
    while (!reading) {
      FL_CO_CHECKED(co_await reads.wait());
    }
    text.append(piece.view());
    co_return Result<>{};
  }
  Task<Result<>> finish() override {
    finished = true;
    co_return Result<>{};
  }

  void read() {
    reading = true;
    reads.notify();
  }
  // "TYPE version" of everything that came.
  std::vector<std::string> frames() const {
    std::vector<std::string> told;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const auto frame = wire::parse_json(text.substr(at, end - at));
      EXPECT_TRUE(frame);
      told.push_back(
          std::string(wire::find_string(frame->value, "type"))
              .append(" ")
              .append(wire::find_string(frame->value, "object.metadata.resourceVersion")));
      at = end + 1;
    }
    return told;
  }

  bool reading = false;
  bool finished = false;
  std::string text;
  runtime::Signal reads;

 private:
  http::Request request_;
  runtime::PeerInfo peer_;
};

// A server's cache that lets two events wait for one watcher, and one watch on it.
struct WatchedCache {
  runtime::ManualRuntime runtime;
  store::MemoryStore store{runtime, {.history_changes = 8}};
  watchcache::WatchCache cache{runtime, store, resource::builtin_catalog(), {.watcher_events = 2}};
  identity::TokenTable tokens;
  identity::TokenAuthenticator authenticator{tokens};
  identity::RoleAuthorizer authorizer{nullptr};
  Access access{runtime, authenticator, authorizer};
  Watches watches{runtime, cache, 64 << 20};
  SlowClient client;
  Request request{.exchange = client,
                  .info = {},
                  .query = {},
                  .user = std::make_shared<identity::User>(
                      identity::User{"admin", {}, {std::string(identity::kMastersGroup)}, {}}),
                  .attributes = {},
                  .field_terms = {},
                  .kind = &config_maps(),
                  .audit_id = {},
                  .warnings = {}};
  runtime::Scope scope{runtime};

  static Task<void> follow(watchcache::WatchCache& cache) { (void)co_await cache.run(); }
  static Task<void> watch(Access& access, Watches& watches, Request& request) {
    auto right = std::make_unique<WatchRight>(access, request);
    Result<OpenWatchRef> watch = co_await watches.open(request, std::move(right));
    if (watch && *watch) (void)co_await watches.stream(request.exchange, **watch);
  }
  static Task<void> commit(store::Store& store, store::Transaction transaction) {
    EXPECT_TRUE(co_await store.commit(std::move(transaction)));
  }

  WatchedCache() {
    tokens.add("secret", request.user);
    authenticator.set_table(tokens);
    client.request().headers.add("Authorization", "Bearer secret");
    put("first");
    scope.spawn(follow(cache));
    runtime.settle();
    request.query.add("resourceVersion",
                      std::to_string(store::Place::end_of(cache.revision()).number()));
    request.query.add("allowWatchBookmarks", "true");
    scope.spawn(watch(access, watches, request));
    runtime.settle();
  }

  void put(const std::string& name) {
    const Json object =
        JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}}};
    store::Transaction transaction;
    transaction.operations.push_back({store::Operation::Kind::put,
                                      watchcache::store_key(config_maps(), "default", name),
                                      watchcache::encode_stored(object)});
    scope.spawn(commit(store, std::move(transaction)));
    runtime.settle();
  }
};

// A bookmark says that everything before it was told. A watcher that was cut did not hear
// everything: it must be left with the version of its last event, to resume from there.
TEST(Watches, NoBookmarkAfterACut) {
  WatchedCache world;
  for (const char* name : {"a", "b", "c", "d", "e"}) world.put(name);
  world.runtime.advance(61s);  // a bookmark is due
  world.client.read();
  world.runtime.settle();
  EXPECT_TRUE(world.client.finished);
  EXPECT_EQ(world.watches.cut(), 1U);
  EXPECT_EQ(world.client.frames(),
            (std::vector<std::string>{"ADDED 2048", "ADDED 3072", "ADDED 4096"}));
}

// Who has heard everything gets one.
TEST(Watches, BookmarksTellHowFar) {
  WatchedCache world;
  world.client.read();
  world.put("a");
  world.runtime.advance(61s);
  EXPECT_FALSE(world.client.finished);
  EXPECT_EQ(world.client.frames(), (std::vector<std::string>{"ADDED 2048", "BOOKMARK 3071"}));
}

}  // namespace
}  // namespace fairlead::apiserver
