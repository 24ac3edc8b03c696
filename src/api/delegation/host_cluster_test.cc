// A HostCluster against a real API server with a store in memory: what the host says is what
// counts.
#include "api/delegation/host_cluster.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "api/apiserver/api_server.h"
#include "api/apiserver/cluster_defaults.h"
#include "api/identity/test_support.h"
#include "api/resource/test_kinds.h"
#include "api/store/memory_store.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/http/memory_stream.h"
#include "foundation/http/server.h"

namespace fairlead::delegation {
namespace {

using http::MemoryRuntime;
using identity::UserRef;

const client::ResourceName kConfigMaps{"", "v1", "configmaps", true};
const client::ResourceName kNamespaces{"", "v1", "namespaces", false};
const client::ResourceName kNodes{"", "v1", "nodes", false};
constexpr std::string_view kAuthentication = "extension-apiserver-authentication";

Task<void> follow(watchcache::WatchCache& cache) { (void)co_await cache.run(); }

identity::TokenTable host_tokens() {
  identity::TokenTable tokens;
  const auto add = [&tokens](const char* token, const char* user, std::vector<std::string> groups) {
    tokens.add(token, std::make_shared<identity::User>(identity::with_authenticated_group(
                          {.name = user, .uid = {}, .groups = std::move(groups), .extra = {}})));
  };
  add("admin", "boss", {"system:masters"});
  add("reader", "rita", {"fairlead:viewers"});
  add("nobody", "nick", {});
  return tokens;
}

// An API at http://host:80.
struct Host {
  explicit Host(MemoryRuntime& runtime)
      : store(runtime),
        cache(runtime, store, catalog),
        nodes(catalog, cache),
        authenticator({std::make_shared<identity::TokenAuthenticator>(host_tokens())}, false),
        authorizer(catalog, &nodes),
        api({.runtime = runtime,
             .store = store,
             .cache = cache,
             .catalog = catalog,
             .nodes = nodes,
             .authenticator = authenticator,
             .authorizer = authorizer,
             .metrics = metrics}),
        server(runtime, api),
        scope(runtime) {
    scope.spawn(follow(cache));
    const auto made =
        runtime.run(apiserver::ensure_defaults(runtime, cache, catalog, api.writer()));
    CHECK(made && *made);
    scope.spawn(server.serve(*runtime.listen({.host = "host", .port = 80}, nullptr)));
  }
  const resource::Catalog& catalog = resource::test_catalog();
  store::MemoryStore store;
  metrics::Registry metrics;
  watchcache::WatchCache cache;
  apiserver::NodeIndex nodes;
  identity::UnionAuthenticator authenticator;
  identity::RoleAuthorizer authorizer;
  apiserver::ApiServer api;
  http::Server server;
  runtime::Scope scope;
};

struct HostClusterTest : testing::Test {
  MemoryRuntime runtime;
  std::optional<Host> host{std::in_place, runtime};
  std::unique_ptr<client::RestClient> admin = connect("admin");
  std::unique_ptr<HostCluster> cluster = open("admin");
  runtime::Scope scope{runtime};

  static identity::ClientConfig config(std::string token) {
    identity::ClientConfig config;
    config.server = "http://host:80";
    config.token = std::move(token);
    return config;
  }
  std::unique_ptr<client::RestClient> connect(std::string token) {
    auto client = client::RestClient::open(runtime, config(std::move(token)));
    CHECK(client.has_value());
    return std::move(*client);
  }
  std::unique_ptr<HostCluster> open(std::string token) {
    auto opened = HostCluster::open(runtime, config(std::move(token)));
    CHECK(opened.has_value());
    return std::move(*opened);
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> outcome = runtime.run(std::move(task));
    CHECK(outcome.has_value());
    return std::move(*outcome);
  }

  void publish(JsonObject data) {
    Json object = JsonObject{
        {"metadata", JsonObject{{"name", kAuthentication}, {"namespace", "kube-system"}}},
        {"data", std::move(data)}};
    Result<Json> made = run(admin->create(kConfigMaps, "kube-system", object));
    if (!made) made = run(admin->update(kConfigMaps, object));
    ASSERT_TRUE(made) << made.error().message;
    runtime.run_for(1s);
  }
  static JsonObject vouching(const identity::KeyPair& ca) {
    return {{"requestheader-client-ca-file", ca.certificate.pem()},
            {"requestheader-allowed-names", R"(["front"])"}};
  }
  // Whom the aggregator with that certificate can speak for.
  std::string vouched_by(const identity::KeyPair& proxy) {
    runtime::PeerInfo peer;
    peer.certificate = proxy.certificate.pem();
    const std::vector<std::pair<std::string, std::string>> headers{{"X-Remote-User", "jane"}};
    const auto outcome = cluster->request_headers()->authenticate_now(
        {.peer = &peer, .headers = headers, .now = identity::testing::kNow});
    return outcome && *outcome && **outcome ? (**outcome)->name : "nobody";
  }
  std::string user_of_token(std::string token) {
    const std::vector<std::pair<std::string, std::string>> headers{
        {"Authorization", "Bearer " + std::move(token)}};
    const identity::AuthRequest request{.headers = headers};
    const Result<UserRef> user = run(cluster->tokens()->authenticate(request));
    if (!user) return std::string(code_name(user.error().code));
    return *user ? (*user)->name : "nobody";
  }
};

// What is wrong at the start is named, with the way out.
TEST_F(HostClusterTest, SaysWhatIsMissing) {
  const auto error_of = [this](HostCluster& one) {
    const Result<> loaded = run(one.load());
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_NE(error_of(*cluster).find("requestheader-client-ca-file"), std::string::npos);
  publish({{"client-ca-file", ""}});
  EXPECT_NE(error_of(*cluster).find("requestheader-client-ca-file is missing"), std::string::npos);
  publish({{"requestheader-client-ca-file", "rubbish"}});
  EXPECT_NE(error_of(*cluster).find("requestheader-client-ca-file"), std::string::npos);
  EXPECT_NE(error_of(*open("nobody")).find("extension-apiserver-authentication-reader"),
            std::string::npos);
  publish(vouching(identity::testing::make_ca()));
  EXPECT_EQ(error_of(*cluster), "");
}

// A host that is not there yet is waited for, but not for ever.
TEST_F(HostClusterTest, WaitsForTheHost) {
  publish(vouching(identity::testing::make_ca()));
  host.reset();
  const Instant before = runtime.now();
  const Result<> loaded = run(open("admin")->load());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::unavailable);
  EXPECT_GE(runtime.now() - before, 30s);
  EXPECT_LT(runtime.now() - before, 60s);
}

// The ConfigMap is followed: a new authority takes over, what cannot be used changes nothing.
TEST_F(HostClusterTest, FollowsTheConfigMap) {
  const identity::KeyPair old_ca = identity::testing::make_ca("old", 1);
  const identity::KeyPair new_ca = identity::testing::make_ca("new", 2);
  const identity::KeyPair old_front = identity::testing::client_of(old_ca, "front");
  const identity::KeyPair new_front = identity::testing::client_of(new_ca, "front");
  int changes = 0;
  cluster->on_change([&changes] { ++changes; });
  publish(vouching(old_ca));
  ASSERT_TRUE(run(cluster->load()));
  scope.spawn(cluster->run());
  runtime.run_for(1s);
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(vouched_by(old_front), "jane");
  EXPECT_EQ(vouched_by(new_front), "nobody");

  publish(vouching(new_ca));
  EXPECT_EQ(changes, 2);
  EXPECT_NE(cluster->client_authorities().find(new_ca.certificate.pem()), std::string::npos);
  EXPECT_EQ(vouched_by(old_front), "nobody");
  EXPECT_EQ(vouched_by(new_front), "jane");

  publish({{"requestheader-client-ca-file", "rubbish"}});
  EXPECT_EQ(vouched_by(new_front), "jane");
  ASSERT_TRUE(run(admin->remove(kConfigMaps, "kube-system", std::string(kAuthentication))));
  runtime.run_for(1s);
  EXPECT_EQ(vouched_by(new_front), "jane");
  EXPECT_EQ(changes, 2);
}

// Tokens and rights are what a real server's reviews say they are.
TEST_F(HostClusterTest, ReviewsOfARealServer) {
  EXPECT_EQ(user_of_token("reader"), "rita");
  EXPECT_EQ(user_of_token("wrong"), "unauthorized");
  const auto may = [this](std::string_view group, std::string_view verb) -> std::string {
    const identity::User user{.name = "x", .uid = {}, .groups = {std::string(group)}, .extra = {}};
    const identity::Attributes wanted{.user = &user,
                                      .verb = verb,
                                      .is_resource = true,
                                      .group = "fairlead.dev",
                                      .version = "v1alpha1",
                                      .resource = "parcels",
                                      .subresource = {},
                                      .namespace_ = "default",
                                      .name = {},
                                      .path = {},
                                      .field_selector = {}};
    const Result<identity::Decision> decision = run(cluster->authorizer().authorize(wanted));
    if (!decision) return std::string(code_name(decision.error().code));
    return decision->allowed ? "yes" : "no";
  };
  EXPECT_EQ(may("fairlead:viewers", "list"), "yes");
  EXPECT_EQ(may("fairlead:viewers", "create"), "no");
  EXPECT_EQ(may("strangers", "list"), "no");
  host.reset();
  EXPECT_EQ(user_of_token("nobody"), "unavailable");
  EXPECT_EQ(may("strangers", "get"), "unavailable");
}

// --- namespaces: a server of its own, whose namespaces are the host's

struct Behind {
  Behind(MemoryRuntime& on, apiserver::Admission& namespaces)
      : runtime(on),
        store(runtime),
        cache(runtime, store, catalog),
        writer(store, cache),
        scope(runtime) {
    writer.add_admission(namespaces);
    scope.spawn(follow(cache));
    runtime.run_for(1s);
  }
  // 201, or the status of the refusal.
  int create(std::string namespace_name, std::string name) {
    const apiserver::WriteContext context{.kind = &parcels,
                                          .namespace_name = namespace_name,
                                          .options = {.field_manager = "test"},
                                          .now = runtime.wall_now(),
                                          .random = [this] { return runtime.random(); }};
    const Json object = JsonObject{{"metadata", JsonObject{{"name", name}}},
                                   {"spec", JsonObject{{"text", "x"}, {"number", 7}}}};
    apiserver::WriteItem item{
        .kind = &parcels, .namespace_name = namespace_name, .name = {}, .create = true};
    item.plan = [&](const Json*) { return apiserver::plan_create(context, object); };
    const auto written = runtime.run(writer.write(std::move(item)));
    CHECK(written.has_value());
    return *written ? 201 : written->error().status().code;
  }
  MemoryRuntime& runtime;
  const resource::Catalog catalog{resource::test_kinds()};
  const resource::Kind& parcels = *catalog.find("fairlead.dev", "v1alpha1", "parcels");
  store::MemoryStore store;
  watchcache::WatchCache cache;
  apiserver::ObjectWriter writer;
  runtime::Scope scope;
};

// Objects are made only in namespaces that the host has, in new ones before the watch tells of
// them.
TEST_F(HostClusterTest, NamespacesAreTheHosts) {
  Behind behind(runtime, cluster->namespaces());
  const auto make = [this](const char* name) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", name}}}};
    ASSERT_TRUE(run(admin->create(kNamespaces, "", std::move(object))));
  };
  EXPECT_EQ(behind.create("default", "a"), 201);  // nothing is followed yet: looked up
  make("new");
  EXPECT_EQ(behind.create("new", "a"), 201);
  EXPECT_EQ(behind.create("nowhere", "a"), 404);

  scope.spawn(cluster->namespaces().run());
  runtime.run_for(1s);
  ASSERT_TRUE(run(admin->remove(kNamespaces, "", "new")));
  runtime.run_for(1s);
  EXPECT_EQ(behind.create("new", "b"), 403);  // it is going
  EXPECT_EQ(behind.create("default", "b"), 201);
  EXPECT_EQ(behind.create("default", "b"), 409);
}

// A host that does not answer leaves what is known in force and decides nothing new.
TEST_F(HostClusterTest, NamespacesOfAHostThatIsDown) {
  Behind behind(runtime, cluster->namespaces());
  scope.spawn(cluster->namespaces().run());
  runtime.run_for(1s);
  host.reset();
  EXPECT_EQ(behind.create("default", "a"), 201);
  EXPECT_EQ(behind.create("nowhere", "a"), 503);
}

// --- nodes: what belongs to one goes when the host deletes it

struct HostNodesTest : HostClusterTest {
  std::vector<std::string> known;
  std::vector<std::string> forgotten;
  int failures = 0;  // of the next attempts to forget

  void SetUp() override {
    cluster->nodes().serve([this] { return known; },
                           [this](std::string node) { return forget(std::move(node)); });
  }
  Task<Result<>> forget(std::string node) {
    if (failures > 0) {
      --failures;
      co_return fail(Code::unavailable, "the store is away");
    }
    std::erase(known, node);
    forgotten.push_back(std::move(node));
    co_return Result<>{};
  }
  void make(const std::string& name) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", name}}}};
    ASSERT_TRUE(run(admin->create(kNodes, "", std::move(object))));
  }
  void remove(const std::string& name) { ASSERT_TRUE(run(admin->remove(kNodes, "", name))); }
  void start() {
    scope.spawn(cluster->nodes().run());
    runtime.run_for(1s);
  }
};

// A node that the host deletes is forgotten, also when that fails at first; others stay.
TEST_F(HostNodesTest, DeletedNodesAreForgotten) {
  known = {"n1", "n2"};
  for (const std::string& name : known) make(name);
  start();
  EXPECT_EQ(cluster->nodes().count(), 2u);
  EXPECT_TRUE(forgotten.empty());
  failures = 3;
  remove("n1");
  runtime.run_for(5s);
  EXPECT_EQ(forgotten, std::vector<std::string>{"n1"});
  EXPECT_EQ(cluster->nodes().count(), 1u);
}

// Nodes that went while nobody watched are found by the next list.
TEST_F(HostNodesTest, NodesThatWentUnseenAreForgotten) {
  known = {"n1", "n2"};
  make("n2");
  start();
  EXPECT_EQ(forgotten, std::vector<std::string>{"n1"});
}

// A node that registered again, before it could be forgotten, is not gone.
TEST_F(HostNodesTest, ANodeThatCameBackStays) {
  known = {"n1", "n2"};
  for (const std::string& name : known) make(name);
  start();
  failures = 3;
  remove("n1");
  make("n1");
  failures = 0;
  runtime.run_for(5s);
  EXPECT_TRUE(forgotten.empty());
}

// A cluster without one of our nodes is not ours: a wrong kubeconfig must not end all waiting.
TEST_F(HostNodesTest, AnotherClusterChangesNothing) {
  known = {"n1", "n2"};
  make("x1");
  start();
  EXPECT_TRUE(forgotten.empty());
}

// A host that does not answer has deleted nothing.
TEST_F(HostNodesTest, ASilentHostChangesNothing) {
  known = {"n1"};
  make("n1");
  start();
  host.reset();
  runtime.run_for(60s);
  EXPECT_TRUE(forgotten.empty());
}

}  // namespace
}  // namespace fairlead::delegation
