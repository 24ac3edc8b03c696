// The server's own controllers on a whole server with the model store.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/apiserver/test_server.h"
#include "api/controllers/expirer.h"
#include "api/controllers/garbage_collector.h"
#include "api/controllers/namespace_terminator.h"
#include "foundation/base/time_text.h"

namespace fairlead::controllers {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

struct Cluster : apiserver::TestServer {
  GarbageCollector garbage{runtime, catalog, cache, api.writer()};
  NamespaceTerminator namespaces{runtime, catalog, cache, api.writer()};
  Expirer expirer{runtime, catalog, cache, api.writer()};
  runtime::Scope controllers{runtime};

  Cluster() {
    controllers.spawn(garbage.run());
    controllers.spawn(namespaces.run());
    controllers.spawn(expirer.run());
    runtime.settle();
  }
  // A ConfigMap with owners; its uid.
  std::string map(const std::string& name,
                  const std::vector<std::pair<std::string, std::string>>& owners = {},
                  bool blocks = false) {
    JsonArray references;
    for (const auto& [owner, uid] : owners)
      references.push_back(JsonObject{{"apiVersion", "v1"},
                                      {"kind", "ConfigMap"},
                                      {"name", owner},
                                      {"uid", uid},
                                      {"blockOwnerDeletion", blocks}});
    const Json made = create(
        kMaps,
        JsonObject{{"metadata", JsonObject{{"name", name}, {"ownerReferences", references}}}});
    return std::string(wire::find_string(made, "metadata.uid"));
  }
  bool has(const std::string& name) { return exists(std::string(kMaps) + "/" + name); }
  void remove(const std::string& name, std::string_view propagation = "Background") {
    const auto deleted =
        ask("admin", "DELETE", fmt::format("{}/{}?propagationPolicy={}", kMaps, name, propagation));
    EXPECT_EQ(deleted->status, 200) << deleted->text;
    runtime.advance(1s);
  }
  std::size_t owners_of(const std::string& name) {
    const Json object = ask("admin", "GET", std::string(kMaps) + "/" + name)->json();
    const Json* owners = wire::find(object, "metadata.ownerReferences");
    return owners && owners->is_array() ? owners->get_array().size() : 0;
  }
};

// What lost its last owner goes, and what it owned in turn; what has another owner stays and
// forgets.
TEST(GarbageCollector, FollowsOwners) {
  Cluster cluster;
  const std::string a = cluster.map("a"), b = cluster.map("b");
  const std::string child = cluster.map("child", {{"a", a}});
  cluster.map("grandchild", {{"child", child}});
  cluster.map("shared", {{"a", a}, {"b", b}});
  cluster.map("free");
  cluster.remove("a");
  EXPECT_FALSE(cluster.has("child"));
  EXPECT_FALSE(cluster.has("grandchild"));
  EXPECT_TRUE(cluster.has("shared"));
  EXPECT_EQ(cluster.owners_of("shared"), 1u);
  EXPECT_TRUE(cluster.has("free"));
}

// An owner is who it says by uid: one of the same name made later is another; an absent one is
// none.
TEST(GarbageCollector, OwnersAreUids) {
  Cluster cluster;
  cluster.map("a");
  cluster.map("of-another", {{"a", "00000000-0000-0000-0000-000000000000"}});
  cluster.map("of-nobody", {{"missing", "00000000-0000-0000-0000-000000000001"}});
  cluster.runtime.advance(1s);
  EXPECT_FALSE(cluster.has("of-another"));
  EXPECT_FALSE(cluster.has("of-nobody"));
  EXPECT_TRUE(cluster.has("a"));
}

// Owners of kinds that are not stored here count as there.
TEST(GarbageCollector, UnknownKindsAreLeftAlone) {
  Cluster cluster;
  const JsonObject owner{
      {"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "d"}, {"uid", "u"}};
  cluster.create(
      kMaps,
      JsonObject{{"metadata", JsonObject{{"name", "m"}, {"ownerReferences", JsonArray{owner}}}}});
  cluster.runtime.advance(10s);
  EXPECT_TRUE(cluster.has("m"));
}

// Foreground: the owner waits for those that block it. Orphan: they are set free first.
TEST(GarbageCollector, ForegroundAndOrphan) {
  Cluster cluster;
  const std::string a = cluster.map("a");
  cluster.map("held", {{"a", a}}, true);
  const std::string pin = R"({"metadata":{"finalizers":["example.com/wait"]}})";
  const std::string held = std::string(kMaps) + "/held";
  ASSERT_EQ(cluster.ask("admin", "PATCH", held, pin, "application/merge-patch+json")->status, 200);
  cluster.remove("a", "Foreground");
  EXPECT_TRUE(cluster.has("a"));  // its dependent is not gone yet
  ASSERT_EQ(cluster
                .ask("admin", "PATCH", held, R"({"metadata":{"finalizers":null}})",
                     "application/merge-patch+json")
                ->status,
            200);
  cluster.runtime.advance(1s);
  EXPECT_FALSE(cluster.has("held"));
  EXPECT_FALSE(cluster.has("a"));

  const std::string b = cluster.map("b");
  cluster.map("freed", {{"b", b}});
  cluster.remove("b", "Orphan");
  EXPECT_FALSE(cluster.has("b"));
  EXPECT_TRUE(cluster.has("freed"));
  EXPECT_EQ(cluster.owners_of("freed"), 0u);
}

// A namespace takes everything in it along, and lets nothing new in meanwhile.
TEST(NamespaceTerminator, EmptiesAndEnds) {
  Cluster cluster;
  cluster.create("/api/v1/namespaces", JsonObject{{"metadata", JsonObject{{"name", "gone"}}}});
  const std::string maps = "/api/v1/namespaces/gone/configmaps";
  for (int i = 0; i < 100; ++i)
    cluster.create(maps, JsonObject{{"metadata", JsonObject{{"name", "m" + std::to_string(i)}}}});
  cluster.create(
      maps, JsonObject{{"metadata", JsonObject{{"name", "held"},
                                               {"finalizers", JsonArray{"example.com/wait"}}}}});
  ASSERT_EQ(cluster.ask("admin", "DELETE", "/api/v1/namespaces/gone")->status, 200);
  cluster.runtime.advance(30s);
  const Json left = cluster.ask("admin", "GET", maps)->json();
  EXPECT_EQ(wire::find(left, "items")->get_array().size(), 1u);
  EXPECT_TRUE(cluster.exists("/api/v1/namespaces/gone"));
  const auto late = cluster.ask("admin", "POST", maps, R"({"metadata":{"name":"late"}})");
  EXPECT_EQ(late->status, 403) << late->text;

  ASSERT_EQ(cluster
                .ask("admin", "PATCH", maps + "/held", R"({"metadata":{"finalizers":null}})",
                     "application/merge-patch+json")
                ->status,
            200);
  cluster.runtime.advance(30s);
  EXPECT_FALSE(cluster.exists("/api/v1/namespaces/gone"));
}

Json event(const std::string& name, WallTime last) {
  return JsonObject{{"metadata", JsonObject{{"name", name}}},
                    {"involvedObject",
                     JsonObject{{"kind", "ConfigMap"}, {"name", "m"}, {"namespace", "default"}}},
                    {"lastTimestamp", rfc3339(last)}};
}

// Events go an hour after they last happened, not after they were made; other kinds stay.
TEST(Expirer, EventsGoAfterAnHour) {
  Cluster cluster;
  const std::string events = "/api/v1/namespaces/default/events";
  const WallTime start = cluster.runtime.wall_now();
  cluster.create(events, event("old", start));
  cluster.create(events, event("repeated", start));
  cluster.map("m");
  cluster.runtime.advance(40min);
  const auto again = cluster.ask("admin", "PATCH", events + "/repeated",
                                 fmt::format(R"({{"lastTimestamp":"{}"}})", rfc3339(start + 40min)),
                                 "application/merge-patch+json");
  ASSERT_EQ(again->status, 200) << again->text;
  cluster.runtime.advance(19min);
  EXPECT_TRUE(cluster.exists(events + "/old"));
  cluster.runtime.advance(2min);
  EXPECT_FALSE(cluster.exists(events + "/old"));
  EXPECT_TRUE(cluster.exists(events + "/repeated"));
  cluster.runtime.advance(41min);
  EXPECT_FALSE(cluster.exists(events + "/repeated"));
  EXPECT_TRUE(cluster.has("m"));
}

// The latest of an event's own times counts; text that is no time, and a time to come, do not.
TEST(Expirer, LastWritten) {
  const auto at = [](const char* text) { return *parse_rfc3339(text); };
  EXPECT_EQ(last_written(JsonObject{}, at("2030-01-02T00:00:00Z")), resource::Moment{});
  const Json many =
      JsonObject{{"metadata", JsonObject{{"creationTimestamp", "2030-01-01T00:00:00Z"}}},
                 {"lastTimestamp", "rubbish"},
                 {"eventTime", "2030-01-01T01:00:00.000000Z"},
                 {"series", JsonObject{{"lastObservedTime", "2030-01-01T02:00:00.000000Z"}}}};
  EXPECT_EQ(last_written(many, at("2030-01-02T00:00:00Z")), at("2030-01-01T02:00:00Z"));
  EXPECT_EQ(last_written(many, at("2030-01-01T01:30:00Z")), at("2030-01-01T01:00:00Z"));
}

// Large ones count by their size: the newest stay as far as there is room for them.
TEST(Expirer, KeepsSoManyBytes) {
  apiserver::TestServer server;
  Expirer expirer(server.runtime, server.catalog, server.cache, server.api.writer(), 100, 25'000);
  runtime::Scope scope(server.runtime);
  for (const char* name : {"d", "c", "b", "a"}) {
    Json large = event(name, server.runtime.wall_now());
    large.get_object()["message"] = std::string(10'000, 'x');
    server.create("/api/v1/namespaces/default/events", large);
  }
  scope.spawn(expirer.run());
  server.runtime.advance(31s);
  std::string left;
  for (const char* name : {"a", "b", "c", "d"})
    if (server.exists(fmt::format("/api/v1/namespaces/default/events/{}", name))) left += name;
  EXPECT_EQ(left, "ab");
  scope.cancel();
  server.runtime.settle();
}

// However many are told, the newest stay and no more.
TEST(Expirer, KeepsTheNewest) {
  apiserver::TestServer server;
  Expirer expirer(server.runtime, server.catalog, server.cache, server.api.writer(), 3);
  runtime::Scope scope(server.runtime);
  for (const char* name : {"e", "d", "c", "b", "a"})
    server.create("/api/v1/namespaces/default/events", event(name, server.runtime.wall_now()));
  scope.spawn(expirer.run());
  server.runtime.advance(31s);
  std::string left;
  for (const char* name : {"a", "b", "c", "d", "e"})
    if (server.exists(fmt::format("/api/v1/namespaces/default/events/{}", name))) left += name;
  EXPECT_EQ(left, "abc");
  scope.cancel();
  server.runtime.settle();
}

}  // namespace
}  // namespace fairlead::controllers
