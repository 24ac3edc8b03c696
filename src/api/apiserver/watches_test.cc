#include "api/apiserver/watches.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "api/resource/test_kinds.h"
#include "api/store/memory_store.h"
#include "api/watchcache/stored_object.h"
#include "foundation/runtime/manual_runtime.h"

namespace fairlead::apiserver {
namespace {

const resource::Kind& config_maps() {
  return *resource::test_catalog().find("", "v1", "configmaps");
}

// A client that takes nothing until it is told to. As on a real stream, a little may wait for it
// before its writer has to.
class SlowClient final : public http::Exchange {
 public:
  const http::Request& request() const override { return request_; }
  http::Request& request() override { return request_; }
  const runtime::PeerInfo& peer() const override { return peer_; }
  Task<Result<>> respond(http::Response refusal) override {
    refused = refusal.status;
    co_return Result<>{};
  }
  Task<Result<>> start(http::ResponseHead) override { co_return Result<>{}; }
  Task<Result<>> write(Bytes piece) override {
    offered += piece.size();
    while (!reading && waiting_bytes >= most_waiting) {
      FL_CO_CHECKED(co_await reads.wait());
    }
    if (reading) {
      text.append(piece.view());
      offered -= piece.size();
    } else {
      waiting_bytes += piece.size();
      waiting.push_back(std::move(piece));
    }
    co_return Result<>{};
  }
  Task<Result<>> finish() override {
    finished = true;
    co_return Result<>{};
  }

  void read() {
    reading = true;
    for (Bytes& piece : waiting) text.append(piece.view());
    offered -= std::exchange(waiting_bytes, 0);
    waiting.clear();
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
  int refused = 0;  // with this status
  std::string text;
  std::size_t most_waiting = 64 << 10;
  std::size_t offered = 0;  // by a watch, and not read
  std::vector<Bytes> waiting;
  std::size_t waiting_bytes = 0;
  runtime::Signal reads;

 private:
  http::Request request_;
  runtime::PeerInfo peer_;
};

identity::UserRef administrator() {
  return std::make_shared<identity::User>(
      identity::User{"admin", {}, {std::string(identity::kMastersGroup)}, {}});
}

// A client and what it asks for.
struct Watcher {
  explicit Watcher(identity::UserRef user) {
    request.user = std::move(user);
    client.request().headers.add("Authorization", "Bearer secret");
  }
  SlowClient client;
  Request request{.exchange = client,
                  .info = {},
                  .query = {},
                  .user = nullptr,
                  .attributes = {},
                  .field_terms = {},
                  .kind = &config_maps(),
                  .audit_id = {},
                  .warnings = {}};
};

// A server's cache and watches on it.
struct World {
  explicit World(watchcache::HistoryLimits limits, std::size_t room)
      : cache(runtime, store, resource::test_catalog(), limits), watches(runtime, cache, room) {
    tokens.add("secret", user);
    authenticator.set_table(tokens);
    put("first");
    scope.spawn(follow(cache));
    runtime.settle();
  }

  runtime::ManualRuntime runtime;
  store::MemoryStore store{runtime, {.history_changes = 8}};
  watchcache::WatchCache cache;
  identity::TokenTable tokens;
  identity::TokenAuthenticator authenticator{tokens};
  identity::RoleAuthorizer authorizer{resource::test_catalog(), nullptr};
  Access access{runtime, authenticator, authorizer};
  Watches watches;
  identity::UserRef user = administrator();
  std::deque<Watcher> watchers;
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

  Watcher& add_watcher() { return watchers.emplace_back(user); }
  void begin(Watcher& watcher) {
    scope.spawn(watch(access, watches, watcher.request));
    runtime.settle();
  }

  void put(const std::string& name, std::size_t size = 0) {
    const Json object = JsonObject{
        {"metadata", JsonObject{{"name", name},
                                {"namespace", "default"},
                                {"annotations", JsonObject{{"t", std::string(size, 'x')}}}}},
        {"data", JsonObject{{"t", std::string(size, 'x')}}}};
    store::Transaction transaction;
    transaction.operations.push_back({store::Operation::Kind::put,
                                      watchcache::store_key(config_maps(), "default", name),
                                      watchcache::encode_stored(object)});
    scope.spawn(commit(store, std::move(transaction)));
    runtime.settle();
  }
};

// A cache that lets two events wait for one watcher, and one watch on it, whose client lets none.
struct WatchedCache : World {
  WatchedCache() : World({.watcher_events = 2}, 64 << 20), client(add_watcher().client) {
    Request& request = watchers.front().request;
    request.query.add("resourceVersion",
                      std::to_string(store::Place::end_of(cache.revision()).number()));
    request.query.add("allowWatchBookmarks", "true");
    client.most_waiting = 0;
    begin(watchers.front());
  }
  SlowClient& client;
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

// References to what there was when watches began are bounded too: the next one waits, and is told
// to come back when nobody reads.
TEST(Watches, LongListsThatNobodyReadsAreBoundedTogether) {
  World world({}, 4 << 10);
  for (int i = 0; i < 100; ++i) world.put("m-" + std::to_string(i), 1 << 10);
  for (int i = 0; i < 3; ++i) world.begin(world.add_watcher());
  EXPECT_LE(world.watches.bytes(), 8u << 10);
  EXPECT_EQ(world.watches.open(), 2u);
  Watcher& last = world.watchers.back();
  EXPECT_FALSE(last.client.refused);
  world.runtime.advance(31s);
  EXPECT_EQ(last.client.refused, 429);
}

// Watches that nobody reads, in any form: all of them together hold no more than the room for them,
// of what there was and of what changes. When they are read everyone gets everything, in order.
TEST(Watches, WhatNobodyReadsIsBoundedTogether) {
  constexpr std::size_t kRoom = 4 << 20;
  constexpr std::size_t kWatches = 200;
  const char* forms[] = {"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1",
                         "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
  for (const char* form : forms) {
    SCOPED_TRACE(form);
    World world({}, kRoom);
    for (int i = 0; i < 4; ++i) world.put("large-" + std::to_string(i), 32 << 10);
    const auto offered = [&world] {
      std::size_t bytes = 0;
      for (const Watcher& watcher : world.watchers) bytes += watcher.client.offered;
      return bytes;
    };
    for (std::size_t i = 0; i < kWatches; ++i) {
      Watcher& watcher = world.add_watcher();
      watcher.client.request().headers.add("Accept", form);
      watcher.request.query.add("includeObject", "Object");
      watcher.request.query.add("watch", "true");
      watcher.request.query.add("sendInitialEvents", "true");
      watcher.request.query.add("resourceVersionMatch", "NotOlderThan");
      watcher.request.query.add("allowWatchBookmarks", "true");
      world.begin(watcher);
    }
    EXPECT_GT(offered(), kRoom / 2);
    EXPECT_LE(offered(), kRoom);
    for (int i = 0; i < 3; ++i) world.put("later-" + std::to_string(i), 32 << 10);
    EXPECT_LE(offered(), kRoom);
    EXPECT_GT(world.watches.room_waits(), 0u);

    for (Watcher& watcher : world.watchers) watcher.client.read();
    world.runtime.settle();
    EXPECT_EQ(world.watches.bytes(), 0u);
    EXPECT_EQ(world.watches.cut(), 0u);
    const std::string& told = world.watchers.front().client.text;
    std::size_t at = 0;
    for (const char* name : {"first", "large-0", "large-1", "large-2", "large-3",
                             "k8s.io/initial-events-end", "later-0", "later-1", "later-2"}) {
      at = told.find("\"" + std::string(name) + "\"", at);
      ASSERT_NE(at, std::string::npos) << name;
    }
    for (const Watcher& watcher : world.watchers)
      EXPECT_TRUE(watcher.client.text == told) << watcher.client.text.size() << " bytes";
  }
}

// Small events are joined, into pieces that an HTTP/2 stream always takes.
TEST(Watches, JoinedEventsFitAStream) {
  World world({}, 4 << 20);
  for (int i = 0; i < 40; ++i) world.put("small-" + std::to_string(i), 5 << 10);
  Watcher& watcher = world.add_watcher();
  watcher.client.most_waiting = 1 << 20;
  world.begin(watcher);
  EXPECT_GT(watcher.client.waiting.size(), 4u);
  EXPECT_LT(watcher.client.waiting.size(), 20u);
  for (const Bytes& piece : watcher.client.waiting) EXPECT_LE(piece.size(), 64u << 10);
}

// A watch that waits for room ends with the server, at its time limit, and when it waits in vain.
TEST(Watches, EndWhileTheyWaitForRoom) {
  enum class By { server, time, patience };
  for (const By by : {By::server, By::time, By::patience}) {
    World world({}, 128 << 10);
    world.put("large", 120 << 10);
    Watcher& reader = world.add_watcher();
    world.begin(reader);
    Watcher& waiter = world.add_watcher();
    waiter.request.query.add("timeoutSeconds", by == By::time ? "5" : "500");
    world.begin(waiter);
    ASSERT_EQ(waiter.client.offered, 0u);
    ASSERT_FALSE(waiter.client.finished);
    if (by == By::server) world.watches.end_all();
    if (by == By::time) world.runtime.advance(6s);
    if (by == By::patience) {
      for (int i = 0; i < 29; ++i) world.runtime.advance(1s);
      EXPECT_FALSE(waiter.client.finished);
      world.runtime.advance(2s);
    }
    world.runtime.settle();
    EXPECT_TRUE(waiter.client.finished);
  }
}

}  // namespace
}  // namespace fairlead::apiserver
