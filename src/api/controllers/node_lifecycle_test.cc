// Agents that are heard, fall silent and come back, on a whole server with the model store.
#include "api/controllers/node_lifecycle.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/apiserver/test_server.h"
#include "foundation/base/time_text.h"

namespace fairlead::controllers {
namespace {

const std::string kReports = "/apis/fairlead.dev/v1alpha1/logbooks";
const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
constexpr std::string_view kMerge = "application/merge-patch+json";

// Keeps what is told.
struct Sink final : control::EventSink {
  Task<Result<>> write(control::EventWrite event) override {
    told.push_back(fmt::format("{} {}", std::string(wire::find_string(event.event, "reason")),
                               std::string(wire::find_string(event.event, "message"))));
    co_return Result<>{};
  }
  std::vector<std::string> told;
};

struct Cluster : apiserver::TestServer {
  Sink sink;
  control::EventMetrics event_metrics{metrics};
  control::EventRecorder events{runtime, &sink, {.component = "test"}, {}, event_metrics};
  NodeLifecycle lifecycle{runtime, catalog, cache, api.writer(), events, metrics};
  runtime::Scope controllers{runtime};

  explicit Cluster(const resource::Catalog& kinds = resource::test_catalog()) : TestServer(kinds) {
    controllers.spawn(events.run());
    controllers.spawn(lifecycle.run());
    create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
    if (kinds.find("fairlead.dev", "v1alpha1", "logbooks"))
      create(kReports, JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
    runtime.settle();
  }
  std::string now() const { return rfc3339_micro(runtime.wall_now()); }
  void begin() {
    create(kLeases, JsonObject{{"metadata", JsonObject{{"name", "n1"}}},
                               {"spec", JsonObject{{"renewTime", now()}}}});
    runtime.settle();
  }
  void renew(const std::string& path = kLeases + "/n1") {
    const Json patch = path.starts_with(kReports)
                           ? Json(JsonObject{{"renewTime", now()}})
                           : Json(JsonObject{{"spec", JsonObject{{"renewTime", now()}}}});
    const auto done = ask("n1", "PATCH", path, wire::encode_json(patch), kMerge);
    EXPECT_EQ(done->status, 200) << done->text;
  }
  void pass(Duration time) {
    for (; time > Duration::zero(); time -= 1s) runtime.advance(1s);
  }
  // "STATUS REASON: message" of the Node's condition Ready.
  std::string node() {
    const Json object = ask("admin", "GET", "/api/v1/nodes/n1")->json();
    const Json* ready = resource::find_condition(object, resource::kReady);
    if (!ready) return "none";
    return fmt::format("{} {}: {}", std::string(wire::find_string(*ready, "status")),
                       std::string(wire::find_string(*ready, "reason")),
                       std::string(wire::find_string(*ready, "message")));
  }
  std::string silent_since() { return ask("admin", "GET", kReports + "/n1")->at("silentSince"); }
};

// While an agent renews its lease its Node is Ready; when it stops, Node and report say since when;
// the first renewal takes that back.
TEST(NodeLifecycle, SilenceIsNoticedAndEnds) {
  Cluster cluster;
  EXPECT_EQ(cluster.node(), "none");  // it has just come
  cluster.begin();
  EXPECT_EQ(cluster.node(), "True AgentAlive: the agent renews its lease");
  for (int i = 0; i < 12; ++i) {
    cluster.pass(10s);
    cluster.renew();
  }
  EXPECT_EQ(cluster.silent_since(), "");
  EXPECT_TRUE(cluster.sink.told.empty());
  const std::string last = rfc3339(cluster.runtime.wall_now());
  cluster.pass(35s);
  EXPECT_EQ(cluster.silent_since(), "");
  cluster.pass(15s);
  EXPECT_EQ(cluster.silent_since(), last);
  EXPECT_EQ(cluster.node(), "Unknown NodeStatusUnknown: agent of n1 silent since " + last);
  EXPECT_EQ(cluster.sink.told,
            std::vector<std::string>{"NodeNotReady agent of n1 silent since " + last});
  EXPECT_NE(cluster.metrics.expose().find("fairlead_nodes_silent 1"), std::string::npos);
  cluster.pass(300s);
  EXPECT_EQ(cluster.silent_since(), last);
  cluster.renew();
  EXPECT_EQ(cluster.silent_since(), "");
  EXPECT_EQ(cluster.node(), "True AgentAlive: the agent renews its lease");
  EXPECT_EQ(cluster.sink.told.back(), "NodeReady agent of n1 is back");
}

// Where no kind has reports, the Node alone says that its agent is silent.
TEST(NodeLifecycle, NeedsNoReports) {
  const resource::Catalog core(resource::core_kinds());
  Cluster cluster(core);
  cluster.begin();
  EXPECT_EQ(cluster.node(), "True AgentAlive: the agent renews its lease");
  const std::string last = rfc3339(cluster.runtime.wall_now());
  cluster.pass(60s);
  EXPECT_EQ(cluster.node(), "Unknown NodeStatusUnknown: agent of n1 silent since " + last);
  cluster.renew();
  EXPECT_EQ(cluster.node(), "True AgentAlive: the agent renews its lease");
}

// Behind a host cluster there are no Leases: the report itself is renewed.
TEST(NodeLifecycle, ReportsAreHeartbeatsToo) {
  Cluster cluster;
  cluster.renew(kReports + "/n1");
  cluster.pass(30s);
  cluster.renew(kReports + "/n1");
  cluster.pass(30s);
  EXPECT_EQ(cluster.silent_since(), "");
  const std::string last = rfc3339(cluster.runtime.wall_now() - 30s);
  cluster.pass(20s);
  EXPECT_EQ(cluster.silent_since(), last);
  cluster.renew(kReports + "/n1");
  EXPECT_EQ(cluster.silent_since(), "");
}

// An agent of an older version renews nothing, and is not called silent for it; its Node is not
// called ready either.
TEST(NodeLifecycle, WhoNeverRenewedIsNotJudged) {
  Cluster cluster;
  cluster.pass(120s);
  EXPECT_EQ(cluster.silent_since(), "");
  EXPECT_EQ(cluster.node(), "Unknown NodeStatusNeverUpdated: no agent has been heard from n1 yet");
  cluster.begin();
  EXPECT_EQ(cluster.node(), "True AgentAlive: the agent renews its lease");
}

// A server that could not listen calls nobody silent.
TEST(NodeLifecycle, WhoWasDeafHasHeardNothing) {
  Cluster cluster;
  cluster.begin();
  cluster.pass(10s);
  cluster.renew();
  cluster.runtime.advance_without_running(300s);
  cluster.pass(30s);
  EXPECT_EQ(cluster.silent_since(), "");
  cluster.renew();
  cluster.pass(30s);
  EXPECT_EQ(cluster.silent_since(), "");
}

// A second server on the same store finds what the first one wrote, and neither takes back what the
// other found: not when it starts, and not because it heard of the agent later.
TEST(NodeLifecycle, ServersAgree) {
  Cluster cluster;
  cluster.begin();
  cluster.pass(60s);
  const std::string since = cluster.silent_since();
  EXPECT_NE(since, "");
  watchcache::WatchCache cache(cluster.runtime, cluster.store, cluster.catalog);
  apiserver::ObjectWriter writer(cluster.store, cache);
  metrics::Registry metrics;
  NodeLifecycle second(cluster.runtime, cluster.catalog, cache, writer, cluster.events, metrics);
  struct Follow {
    static Task<void> run(watchcache::WatchCache& cache) { (void)co_await cache.run(); }
  };
  runtime::Scope scope(cluster.runtime);
  scope.spawn(Follow::run(cache));
  scope.spawn(second.run());
  cluster.pass(20s);
  EXPECT_EQ(cluster.silent_since(), since);
  cluster.renew();
  cluster.pass(5s);
  EXPECT_EQ(cluster.silent_since(), "");
  cluster.pass(60s);
  EXPECT_NE(cluster.silent_since(), "");
  EXPECT_EQ(cluster.sink.told.size(), 3U);  // silent, back, silent: each once
}

// A Node that was deleted and comes again is a new one.
TEST(NodeLifecycle, DeletedNodesAreForgotten) {
  Cluster cluster;
  cluster.begin();
  for (const std::string& path :
       {std::string("/api/v1/nodes/n1"), kReports + "/n1", kLeases + "/n1"})
    EXPECT_EQ(cluster.ask("admin", "DELETE", path)->status, 200);
  cluster.pass(60s);
  cluster.create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  cluster.pass(5s);
  EXPECT_EQ(cluster.node(), "none");
}

// Only local time counts, and what others found holds until the node is heard.
TEST(Heartbeats, Judge) {
  Heartbeats heartbeats(40s);
  const Instant start{1000s};
  heartbeats.heard("a", start);
  heartbeats.heard("b", start + 20s);
  EXPECT_FALSE(heartbeats.silent("a", start + 39s));
  EXPECT_TRUE(heartbeats.silent("a", start + 40s));
  EXPECT_EQ(heartbeats.silent(start + 50s), std::vector<std::string>{"a"});
  EXPECT_FALSE(heartbeats.silent("never heard", start + 50s));
  heartbeats.found_silent("b");
  heartbeats.start_over(start + 100s);
  EXPECT_FALSE(heartbeats.silent("a", start + 139s));
  EXPECT_TRUE(heartbeats.silent("b", start + 101s));
  heartbeats.heard("b", start + 110s);
  EXPECT_FALSE(heartbeats.silent("b", start + 111s));
  heartbeats.forget("a");
  EXPECT_FALSE(heartbeats.known("a"));
}

}  // namespace
}  // namespace fairlead::controllers
