// The agent with the real API server, over loopback, on a fabric that only remembers: what the
// tests of the agent as a whole stand on. The test plays the address controller's part: it writes
// status.address.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/apiserver/api_server.h"
#include "api/apiserver/cluster_defaults.h"
#include "api/client/rest_client.h"
#include "api/identity/authorizer.h"
#include "api/store/memory_store.h"
#include "features/networks/kinds/test_catalog.h"
#include "features/networks/node/networks_node.h"
#include "foundation/http/server.h"
#include "foundation/runtime/epoll_runtime.h"
#include "node/agent/node_agent.h"
#include "node/fabric/log_fabric.h"

namespace fairlead::networks {

inline const client::ResourceName kAttachments{"fairlead.dev", "v1alpha1", "networkattachments",
                                               true};
inline const client::ResourceName kNodes{"", "v1", "nodes", false};
inline const client::ResourceName kReports{"fairlead.dev", "v1alpha1", "nodereports", false};

// Programs that do nothing, or nothing until they are let go, and are remembered.
class RememberedProcesses final : public runtime::Processes {
 public:
  Task<Result<runtime::ProcessEnd>> run(runtime::Command command) override {
    commands.push_back(command.arguments);
    if (hanging) {
      FL_CO_CHECKED(co_await let_go.wait());
    }
    co_return runtime::ProcessEnd{.status = 3, .output = "hello"};
  }
  std::vector<std::vector<std::string>> commands;
  bool hanging = false;
  runtime::Signal let_go;
};

// Remembers what was asked for, and hands it on.
class RememberingHandler final : public http::Handler {
 public:
  explicit RememberingHandler(http::Handler& inner) : inner_(inner) {}
  Task<void> serve(http::Exchange& exchange) override {
    targets.push_back(exchange.request().target);
    return inner_.serve(exchange);
  }
  std::vector<std::string> targets;

 private:
  http::Handler& inner_;
};

// A fabric that can be told to fail, and counts.
class TestFabric final : public fabric::Fabric {
 public:
  std::string_view name() const override { return "test"; }
  Task<Result<>> open() override {
    ++opened;
    if (opened == 1) co_return fail(Code::unavailable, "the switch is still starting");
    co_return Result<>{};
  }
  std::vector<fabric::Station> local_stations() const override { return log.local_stations(); }
  Task<std::vector<fabric::Outcome>> apply(const fabric::Desired& desired,
                                           std::span<const std::string> ids) override {
    std::vector<std::string> possible;
    std::vector<fabric::Outcome> impossible;
    for (const std::string& id : ids) {
      if (failing || stuck.contains(id)) {
        impossible.push_back(no_room(id));
      } else {
        possible.push_back(id);
      }
    }
    std::vector<fabric::Outcome> outcomes = co_await log.apply(desired, possible);
    std::ranges::move(impossible, std::back_inserter(outcomes));
    co_return outcomes;
  }
  Task<Result<fabric::Audit>> audit(const fabric::Desired& desired) override {
    ++audits;
    if (!failing && stuck.empty()) co_return co_await log.audit(desired);
    fabric::Audit audit;
    for (const auto& [id, station] : desired)
      if (!log.carried().contains(id)) audit.failed.push_back(no_room(id));
    co_return audit;
  }
  runtime::Signal& disturbed() override { return log.disturbed(); }
  std::uint32_t mtu() const override { return 1450; }
  const fabric::Desired& carried() const { return log.carried(); }

  static fabric::Outcome no_room(const std::string& id) {
    return {.id = id, .result = fail(Code::io, "no room in the switch")};
  }

  fabric::LogFabric log{{.say = false}};
  bool failing = false;
  std::set<std::string> stuck;  // these alone fail
  int opened = 0;
  int audits = 0;
};

inline identity::TokenTable tokens() {
  identity::TokenTable table;
  table.add("admin", std::make_shared<identity::User>(identity::User{
                         .name = "admin", .groups = {std::string(identity::kMastersGroup)}}));
  for (const char* node : {"n1", "n2"})
    table.add(node, std::make_shared<identity::User>(identity::node_user(node)));
  return table;
}

// An API server that can be stopped and started again on the same store.
class Api {
 public:
  explicit Api(runtime::EpollRuntime& runtime)
      : runtime_(runtime), store_(runtime), cache_(runtime, store_, catalog()) {
    std::vector<std::shared_ptr<identity::Authenticator>> members{
        std::make_shared<identity::TokenAuthenticator>(tokens())};
    authenticator_ = std::make_unique<identity::UnionAuthenticator>(std::move(members), false);
    server_ = std::make_unique<apiserver::ApiServer>(
        apiserver::ApiServer::Parts{.runtime = runtime,
                                    .store = store_,
                                    .cache = cache_,
                                    .catalog = catalog(),
                                    .nodes = nodes_,
                                    .authenticator = *authenticator_,
                                    .authorizer = authorizer_,
                                    .metrics = metrics_});
    scope_.spawn(follow());
  }

  Task<void> start() {
    const Result<> ready =
        co_await apiserver::ensure_defaults(runtime_, cache_, catalog(), server_->writer());
    CHECK(ready.has_value());
    handler_ = std::make_unique<RememberingHandler>(*server_);
    http_ = std::make_unique<http::Server>(runtime_, *handler_);
    auto listener = runtime_.listen({.host = "127.0.0.1", .port = port_}, nullptr);
    CHECK(listener.has_value());
    port_ = (*listener)->local().port;
    scope_.spawn(http_->serve(std::move(*listener)));
  }
  Task<void> stop() {
    co_await http_->stop(0s);
    http_.reset();
  }
  Task<void> close() {
    if (http_) co_await stop();
    co_await scope_.close();
  }

  const std::vector<std::string>& targets() const { return handler_->targets; }

  identity::ClientConfig access(const std::string& user) const {
    return {.server = fmt::format("http://127.0.0.1:{}", port_), .token = user};
  }
  std::unique_ptr<client::RestClient> client(const std::string& user) {
    auto opened = client::RestClient::open(runtime_, access(user),
                                           {.request_time = 5s, .http2_without_tls = true});
    CHECK(opened.has_value());
    return std::move(*opened);
  }

 private:
  static const resource::Catalog& catalog() { return networks::test_catalog(); }
  Task<void> follow() { (void)co_await cache_.run(); }

  runtime::EpollRuntime& runtime_;
  store::MemoryStore store_;
  metrics::Registry metrics_;
  watchcache::WatchCache cache_;
  apiserver::NodeIndex nodes_{catalog(), cache_};
  identity::RoleAuthorizer authorizer_{catalog(), &nodes_};
  std::unique_ptr<identity::UnionAuthenticator> authenticator_;
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<RememberingHandler> handler_;
  std::unique_ptr<http::Server> http_;
  std::uint16_t port_ = 0;
  runtime::Scope scope_{runtime_};
};

// One node: a fabric that outlives the agents that run on it, one after the other.
struct NodeOfTest {
  NodeOfTest(runtime::EpollRuntime& r, Api& a, std::string n, std::string ip)
      : runtime(r), api(a), name(std::move(n)), host(std::move(ip)) {}

  void start() {
    agent::AgentOptions options{.node = name, .host = *Ip::parse(host)};
    options.api.emplace().config = api.access(name);
    options.rest = {.request_time = 5s, .http2_without_tls = true};
    NetworksOptions networks{.host = *Ip::parse(host), .audit_interval = 20ms};
    networks.hooks.allowed_programs = {"/bin/hook"};
    auto opened = agent::NodeAgent::open(
        runtime, std::move(options),
        {networks_feature(std::move(networks), {.fabric = fabric, .processes = processes})});
    CHECK(opened.has_value());
    program = std::move(*opened);
    agent = dynamic_cast<NetworksNode*>(program->feature("networks"));
    CHECK(agent != nullptr);
    scope = std::make_unique<runtime::Scope>(runtime);
    scope->spawn(program->run());
  }
  Task<void> stop() {
    co_await scope->close();
    agent = nullptr;
    program.reset();
    scope.reset();
  }
  std::string refusal() const { return program->refusal(); }
  bool ready() const { return agent->readiness().ready; }

  runtime::EpollRuntime& runtime;
  Api& api;
  std::string name, host;
  TestFabric fabric;
  RememberedProcesses processes;
  std::unique_ptr<agent::NodeAgent> program;
  NetworksNode* agent = nullptr;
  std::unique_ptr<runtime::Scope> scope;
};

// Two nodes of one API server, and what a test does to them.
class AgentWorld : public ::testing::Test {
 protected:
  // Looks again until it holds; the limit only ends a hopeless wait.
  Task<bool> until(std::function<bool()> holds) {
    const Instant limit = runtime_.now() + 60s;
    while (!holds()) {
      if (runtime_.now() > limit) co_return false;
      (void)co_await runtime::sleep(runtime_, 2ms);
    }
    co_return true;
  }
  Task<Json> get(std::string name) {
    Result<Json> object = co_await admin_->get(kAttachments, "default", name);
    co_return object ? std::move(*object) : Json(nullptr);
  }
  Task<bool> until_object(std::string name, std::function<bool(const Json&)> holds) {
    const Instant limit = runtime_.now() + 60s;
    for (;;) {
      const Json object = co_await get(name);
      if (!object.is_null() && holds(object)) co_return true;
      if (runtime_.now() > limit) co_return false;
      (void)co_await runtime::sleep(runtime_, 5ms);
    }
  }
  Task<std::string> create(std::string name, std::string node, JsonObject more = {}) {
    JsonObject spec{{"node", node}, {"subnet", "s"}};
    for (const auto& [key, value] : more) spec[key] = value;
    Json object = JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                             {"spec", std::move(spec)}};
    const Result<Json> made = co_await admin_->create(kAttachments, "default", std::move(object));
    CHECK(made.has_value());
    co_return std::string(wire::find_string(*made, "metadata.uid"));
  }
  // What the address controller does.
  Task<void> assign(std::string name, int vni, int number) {
    Json patch = JsonObject{
        {"status", JsonObject{{"addressVNI", vni},
                              {"ipv4", fmt::format("10.0.0.{}", number)},
                              {"macAddress", fmt::format("02:00:0a:00:00:{:02x}", number)}}}};
    const Result<Json> done = co_await admin_->patch(
        kAttachments, "default", name, client::PatchKind::merge, std::move(patch), "status");
    CHECK(done.has_value());
  }
  Task<std::string> attach(std::string name, std::string node, int vni, int number,
                           JsonObject more = {}) {
    std::string uid = co_await create(name, node, std::move(more));
    co_await assign(name, vni, number);
    co_return uid;
  }
  // The version that it had: its deletion has a higher one.
  Task<std::uint64_t> remove(std::string name) {
    const Json last = co_await get(name);
    const Result<> removed = co_await admin_->remove(kAttachments, "default", name);
    CHECK(removed.has_value());
    co_return parse_version(wire::find_string(last, "metadata.resourceVersion"));
  }
  // Until the node says that it has applied what is newer than `version`: of others' attachments in
  // the network, or of its own.
  Task<bool> until_applied(std::string node, int vni, std::uint64_t version) {
    return until_reported(std::move(node), fmt::format("applied.{}", vni), version);
  }
  Task<bool> until_applied_own(std::string node, std::uint64_t version) {
    return until_reported(std::move(node), "appliedOwn", version);
  }
  Task<std::uint64_t> applied_own(std::string node) {
    const Result<Json> report = co_await admin_->get(kReports, "", node);
    co_return report ? parse_version(wire::find_string(*report, "appliedOwn")) : 0;
  }
  Task<bool> until_reported(std::string node, std::string path, std::uint64_t version) {
    const Instant limit = runtime_.now() + 60s;
    while (runtime_.now() < limit) {
      const Result<Json> object = co_await admin_->get(kReports, "", node);
      if (object && parse_version(wire::find_string(*object, path)) > version) co_return true;
      (void)co_await runtime::sleep(runtime_, 20ms);
    }
    co_return false;
  }
  Task<void> set_up() {
    co_await api_.start();
    admin_ = api_.client("admin");
    for (const char* name : {"n1", "n2"}) {
      Json node = JsonObject{{"metadata", JsonObject{{"name", name}}}};
      const Result<Json> made = co_await admin_->create(kNodes, "", std::move(node));
      CHECK(made.has_value());
    }
    one_.start();
    two_.start();
  }
  Task<void> tear_down() {
    for (NodeOfTest* node : {&one_, &two_})
      if (node->agent) co_await node->stop();
    admin_->close();
    co_await api_.close();
  }
  Task<bool> run_story(Task<void> story) {
    co_await set_up();
    co_await story;
    co_await tear_down();
    co_return true;
  }
  void run(Task<void> story) { runtime_.run_until_complete(run_story(std::move(story))); }

  runtime::EpollRuntime runtime_;
  Api api_{runtime_};
  NodeOfTest one_{runtime_, api_, "n1", "192.0.2.1"};
  NodeOfTest two_{runtime_, api_, "n2", "192.0.2.2"};
  std::unique_ptr<client::RestClient> admin_;
};

inline bool has(const NodeOfTest& node, const std::string& uid) {
  return node.fabric.carried().contains(uid);
}

}  // namespace fairlead::networks
