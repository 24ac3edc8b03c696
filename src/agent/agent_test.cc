// The agent with the real API server, over loopback, on a fabric that only remembers. The test
// plays the address controller's part: it writes status.address.
#include "agent/agent.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "apiserver/api_server.h"
#include "apiserver/cluster_defaults.h"
#include "client/rest_client.h"
#include "fabric/log_fabric.h"
#include "fabric/names.h"
#include "http/server.h"
#include "identity/authorizer.h"
#include "runtime/epoll_runtime.h"
#include "store/memory_store.h"

namespace fairlead::agent {
namespace {

const client::ResourceName kAttachments{"fairlead.dev", "v1alpha1", "networkattachments", true};
const client::ResourceName kNodes{"", "v1", "nodes", false};
const client::ResourceName kEvents{"", "v1", "events", true};
const client::ResourceName kReports{"fairlead.dev", "v1alpha1", "nodereports", false};

// Programs that do nothing, or nothing for ever, and are remembered.
class RememberedProcesses final : public runtime::Processes {
 public:
  Task<Result<runtime::ProcessEnd>> run(runtime::Command command) override {
    commands.push_back(command.arguments);
    runtime::Signal never;
    if (hanging) {
      FL_CO_CHECKED(co_await never.wait());
    }
    co_return runtime::ProcessEnd{.status = 3, .output = "hello"};
  }
  std::vector<std::vector<std::string>> commands;
  bool hanging = false;
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
    if (!failing) co_return co_await log.apply(desired, ids);
    std::vector<fabric::Outcome> outcomes;
    for (const std::string& id : ids) outcomes.push_back(no_room(id));
    co_return outcomes;
  }
  Task<Result<fabric::Audit>> audit(const fabric::Desired& desired) override {
    ++audits;
    if (!failing) co_return co_await log.audit(desired);
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
  int opened = 0;
  int audits = 0;
};

identity::TokenTable tokens() {
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
        co_await apiserver::ensure_defaults(runtime_, cache_, catalog(), server_->writer(), never_);
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

  std::unique_ptr<client::RestClient> client(const std::string& user) {
    auto opened = client::RestClient::open(
        runtime_, {.server = fmt::format("http://127.0.0.1:{}", port_), .token = user},
        {.request_time = 5s, .http2_without_tls = true});
    CHECK(opened.has_value());
    return std::move(*opened);
  }

 private:
  static const resource::Catalog& catalog() { return resource::builtin_catalog(); }
  Task<void> follow() { (void)co_await cache_.run(); }

  runtime::EpollRuntime& runtime_;
  store::MemoryStore store_;
  metrics::Registry metrics_;
  watchcache::WatchCache cache_;
  apiserver::NodeIndex nodes_{catalog(), cache_};
  identity::RoleAuthorizer authorizer_{&nodes_};
  std::unique_ptr<identity::UnionAuthenticator> authenticator_;
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<RememberingHandler> handler_;
  std::unique_ptr<http::Server> http_;
  runtime::Signal never_;
  std::uint16_t port_ = 0;
  runtime::Scope scope_{runtime_};
};

// One node: a fabric that outlives the agents that run on it, one after the other.
struct NodeOfTest {
  NodeOfTest(runtime::EpollRuntime& r, Api& a, std::string n, std::string ip)
      : runtime(r), api(a), name(std::move(n)), host(std::move(ip)) {}

  void start() {
    registry = std::make_unique<metrics::Registry>();
    metrics = std::make_unique<AgentMetrics>(*registry);
    client = api.client(name);
    AgentOptions options{.node = name, .host = *Ip::parse(host), .audit_interval = 20ms};
    options.hooks.allowed_programs = {"/bin/hook"};
    agent = std::make_unique<Agent>(Agent::Parts{.runtime = runtime,
                                                 .client = *client,
                                                 .fabric = fabric,
                                                 .processes = processes,
                                                 .metrics = *metrics},
                                    options);
    scope = std::make_unique<runtime::Scope>(runtime);
    scope->spawn(agent->run());
  }
  Task<void> stop() {
    co_await scope->close();
    client->close();
    agent.reset();
    scope.reset();
    client.reset();
  }

  runtime::EpollRuntime& runtime;
  Api& api;
  std::string name, host;
  TestFabric fabric;
  RememberedProcesses processes;
  std::unique_ptr<metrics::Registry> registry;
  std::unique_ptr<AgentMetrics> metrics;
  std::unique_ptr<client::RestClient> client;
  std::unique_ptr<Agent> agent;
  std::unique_ptr<runtime::Scope> scope;
};

class AgentTest : public ::testing::Test {
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
  // Until the node says that it has applied what is newer than `version`.
  Task<bool> until_applied(std::string node, int vni, std::uint64_t version) {
    const std::string path = fmt::format("applied.{}", vni);
    const Instant limit = runtime_.now() + 60s;
    while (runtime_.now() < limit) {
      const Result<Json> object = co_await admin_->get(kReports, "", node);
      if (object && parse_version(wire::find_string(*object, path)) > version) co_return true;
      (void)co_await runtime::sleep(runtime_, 20ms);
    }
    co_return false;
  }
  // The first event about an attachment with that reason, as soon as there is one.
  Task<Json> until_told(std::string name, std::string reason) {
    const client::ListQuery about{
        .namespace_name = "default",
        .field_selector = fmt::format("involvedObject.name={},reason={}", name, reason)};
    const Instant limit = runtime_.now() + 60s;
    while (runtime_.now() < limit) {
      const Result<client::ListResult> told = co_await admin_->list(kEvents, about);
      if (told && !told->items.empty()) co_return told->items.front();
      (void)co_await runtime::sleep(runtime_, 20ms);
    }
    co_return Json(nullptr);
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

  Task<void> reach_one_another();
  Task<void> hooks_run();
  Task<void> rivals();
  Task<void> failing_fabric();
  Task<void> restart_adopts();
  Task<void> unreported_hook();
  Task<void> hook_after_audit();
  Task<void> newest_lists();
  Task<void> silent_api();
  Task<void> tells_and_reports();
};

bool has(const NodeOfTest& node, const std::string& uid) {
  return node.fabric.carried().contains(uid);
}

// Two attachments of a network reach one another's nodes, and nobody else's; the deletion of one is
// carried out and acknowledged.
Task<void> AgentTest::reach_one_another() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::string b = co_await attach("b", "n2", 5, 2);
  const std::string c = co_await attach("c", "n2", 6, 2);
  Task<bool> wait1 = until([&] { return has(one_, a) && has(one_, b); });
  EXPECT_TRUE(co_await wait1);
  Task<bool> wait2 = until([&] { return has(two_, a) && has(two_, b) && has(two_, c); });
  EXPECT_TRUE(co_await wait2);
  EXPECT_FALSE(has(one_, c));
  EXPECT_EQ(one_.fabric.carried().at(b).host.to_string(), "192.0.2.2");
  EXPECT_EQ(one_.fabric.carried().at(a).interface, fabric::guest_interface_name(a));
  const std::function<bool(const Json&)> implemented = [&](const Json& object) {
    return wire::find_string(object, "status.ifcName") == fabric::guest_interface_name(a) &&
           wire::find_string(object, "status.hostIP") == "192.0.2.1";
  };
  EXPECT_TRUE(co_await until_object("a", implemented));

  // Nothing more is written while nothing changes, audits or not.
  const Json before = co_await get("a");
  const int audits = one_.fabric.audits;
  Task<bool> wait3 = until([&] { return one_.fabric.audits > audits + 5; });
  EXPECT_TRUE(co_await wait3);
  const Json after = co_await get("a");
  EXPECT_EQ(wire::find_string(before, "metadata.resourceVersion"),
            wire::find_string(after, "metadata.resourceVersion"));

  const std::uint64_t version = co_await remove("b");
  Task<bool> wait4 = until([&] { return !has(one_, b) && !has(two_, b) && !has(two_, a); });
  EXPECT_TRUE(co_await wait4);
  EXPECT_TRUE(co_await until_applied("n1", 5, version));
  EXPECT_TRUE(co_await until_applied("n2", 5, version));
}
TEST_F(AgentTest, AttachmentsReachTheNodesTheyConcern) { run(reach_one_another()); }

// Hooks run when an interface was made and when it is gone, with what they asked for filled in; the
// outcome of the first is in the status.
Task<void> AgentTest::hooks_run() {
  const std::string a = co_await attach(
      "a", "n1", 5, 1,
      {{"postCreateExec", JsonArray{"/bin/hook", "up", "${ifname}/${ipv4}/${mac}/${ipv6}"}},
       {"postDeleteExec", JsonArray{"/bin/hook", "old"}}});
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    const Json* status = wire::find(object, "status.postCreateExecReport.exitStatus");
    return status && status->to_number<int>() == 3 &&
           wire::find_string(object, "status.postCreateExecReport.stdOut") == "hello" &&
           !wire::find_string(object, "status.postCreateExecReport.startTime").empty();
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  const std::vector<std::string> up{
      "/bin/hook", "up", fabric::guest_interface_name(a) + "/10.0.0.1/02:00:0a:00:00:01/"};
  CHECK(one_.processes.commands.size() == 1);
  EXPECT_EQ(one_.processes.commands.front(), up);

  Json change = JsonObject{{"spec", JsonObject{{"postDeleteExec", JsonArray{"/bin/hook", "new"}}}}};
  const Result<Json> changed = co_await admin_->patch(kAttachments, "default", "a",
                                                      client::PatchKind::merge, std::move(change));
  EXPECT_TRUE(changed.has_value());
  co_await remove("a");
  Task<bool> wait5 = until([&] { return one_.processes.commands.size() == 2; });
  EXPECT_TRUE(co_await wait5);
  const std::vector<std::string> down{"/bin/hook", "new"};
  EXPECT_EQ(one_.processes.commands.back(), down);

  co_await attach("b", "n1", 5, 1, {{"postCreateExec", JsonArray{"/bin/other"}}});
  const std::function<bool(const Json&)> refused = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors && !wire::find_string(object, "status.ifcName").empty() &&
           errors->at(0) == "postCreateExec: /bin/other is not an allowed program on this node";
  };
  EXPECT_TRUE(co_await until_object("b", refused));
  EXPECT_EQ(one_.processes.commands.size(), 2U);
}
TEST_F(AgentTest, HooksRun) { run(hooks_run()); }

// Of two that claim one address none is carried, and both say so, until one is gone.
Task<void> AgentTest::rivals() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  Task<bool> wait6 = until([&] { return has(one_, a); });
  EXPECT_TRUE(co_await wait6);
  const std::string b = co_await attach("b", "n1", 5, 1);
  const std::function<bool(const Json&)> in_conflict = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors && errors->as_array().size() == 2 &&
           wire::find_string(object, "status.ifcName").empty();
  };
  EXPECT_TRUE(co_await until_object("a", in_conflict));
  EXPECT_TRUE(co_await until_object("b", in_conflict));
  EXPECT_TRUE(one_.fabric.carried().empty());
  co_await remove("b");
  const std::function<bool(const Json&)> fine = [](const Json& object) {
    return !wire::find(object, "status.errors.host") &&
           !wire::find_string(object, "status.ifcName").empty();
  };
  EXPECT_TRUE(co_await until_object("a", fine));
  EXPECT_TRUE(has(one_, a));
}
TEST_F(AgentTest, RivalsAreToldAndNotCarried) { run(rivals()); }

// What the fabric says is in the status, and it is tried again until it works.
Task<void> AgentTest::failing_fabric() {
  one_.fabric.failing = true;
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::function<bool(const Json&)> failed = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors && errors->at(0) == "no room in the switch" &&
           wire::find_string(object, "status.hostIP").empty();
  };
  EXPECT_TRUE(co_await until_object("a", failed));
  one_.fabric.failing = false;
  const std::function<bool(const Json&)> fine = [](const Json& object) {
    return !wire::find(object, "status.errors.host") &&
           wire::find_string(object, "status.hostIP") == "192.0.2.1";
  };
  EXPECT_TRUE(co_await until_object("a", fine));
}
TEST_F(AgentTest, FailuresOfTheFabricAreToldAndRetried) { run(failing_fabric()); }

// A new agent adopts what is there, without running hooks again, and removes what was deleted
// meanwhile, and says so in the report.
Task<void> AgentTest::restart_adopts() {
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  const std::string a = co_await attach("a", "n1", 5, 1, hook);
  const std::string gone = co_await attach("gone", "n1", 6, 1, hook);
  const std::string peer = co_await attach("peer", "n2", 6, 2);
  Task<bool> wait7 = until([&] {
    return has(one_, a) && has(one_, gone) && has(one_, peer) &&
           one_.processes.commands.size() == 2;
  });
  EXPECT_TRUE(co_await wait7);
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    return wire::find(object, "status.postCreateExecReport") != nullptr;
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  EXPECT_TRUE(co_await until_applied("n1", 6, 0));
  co_await one_.stop();
  EXPECT_TRUE(has(one_, a) && has(one_, gone) && has(one_, peer));
  const std::uint64_t version = co_await remove("gone");
  const Json before = co_await get("a");
  one_.start();
  Task<bool> wait8 = until([&] { return !has(one_, gone) && !has(one_, peer); });
  EXPECT_TRUE(co_await wait8);
  EXPECT_TRUE(has(one_, a));
  EXPECT_TRUE(co_await until_applied("n1", 6, version));
  EXPECT_EQ(one_.processes.commands.size(), 2U);
  const Json after = co_await get("a");
  EXPECT_EQ(wire::find_string(before, "metadata.resourceVersion"),
            wire::find_string(after, "metadata.resourceVersion"));
}
TEST_F(AgentTest, RestartAdopts) { run(restart_adopts()); }

// An agent that died while a hook ran has told nobody how it ended: the next one runs it again.
Task<void> AgentTest::unreported_hook() {
  one_.processes.hanging = true;
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  const std::string a = co_await attach("a", "n1", 5, 1, hook);
  Task<bool> started = until([&] { return one_.processes.commands.size() == 1; });
  EXPECT_TRUE(co_await started);
  co_await one_.stop();
  EXPECT_TRUE(has(one_, a));
  one_.processes.hanging = false;
  one_.start();
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    return wire::find(object, "status.postCreateExecReport") != nullptr;
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  EXPECT_EQ(one_.processes.commands.size(), 2U);
}
TEST_F(AgentTest, AHookThatWasNotReportedRunsAgain) { run(unreported_hook()); }

// An interface that somebody removed is made again by an audit, and its hook runs for the new one.
Task<void> AgentTest::hook_after_audit() {
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  const std::string a = co_await attach("a", "n1", 5, 1, hook);
  Task<bool> first = until([&] { return one_.processes.commands.size() == 1; });
  EXPECT_TRUE(co_await first);
  const fabric::Desired nothing;
  const std::vector<std::string> ids{a};
  (void)co_await one_.fabric.log.apply(nothing, ids);
  EXPECT_FALSE(has(one_, a));
  Task<bool> second = until([&] { return one_.processes.commands.size() == 2; });
  EXPECT_TRUE(co_await second);
  EXPECT_TRUE(has(one_, a));
}
TEST_F(AgentTest, AHookRunsForAnInterfaceThatAnAuditMade) { run(hook_after_audit()); }

// No list comes from a server's cache, which may be behind what this node has said it dropped.
Task<void> AgentTest::newest_lists() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  Task<bool> carried = until([&] { return has(one_, a); });
  EXPECT_TRUE(co_await carried);
  std::size_t lists = 0;
  for (const std::string& target : api_.targets()) {
    const bool list = target.find("networkattachments?") != std::string::npos &&
                      target.find("watch=") == std::string::npos;
    lists += list;
    EXPECT_FALSE(list && target.find("resourceVersion=0") != std::string::npos) << target;
  }
  EXPECT_GE(lists, 3U);  // each node's own, and the network that one of them is in
}
TEST_F(AgentTest, ListsTheNewest) { run(newest_lists()); }

// Without the API nothing changes, neither for an agent that runs nor for one that starts; after it
// is back everything is caught up.
Task<void> AgentTest::silent_api() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::string b = co_await attach("b", "n2", 5, 2);
  Task<bool> wait9 = until([&] { return has(one_, a) && has(one_, b); });
  EXPECT_TRUE(co_await wait9);
  co_await one_.stop();
  co_await api_.stop();
  one_.start();
  const int opened = one_.fabric.opened;
  Task<bool> wait10 = until([&] { return one_.fabric.opened > opened; });
  EXPECT_TRUE(co_await wait10);
  const int audits = two_.fabric.audits;
  Task<bool> wait11 = until([&] { return two_.fabric.audits > audits + 5; });
  EXPECT_TRUE(co_await wait11);
  EXPECT_FALSE(one_.agent->ready());
  EXPECT_TRUE(has(one_, a) && has(one_, b) && has(two_, b));
  co_await api_.start();
  Task<bool> wait12 = until([&] { return one_.agent->ready(); });
  EXPECT_TRUE(co_await wait12);
  EXPECT_TRUE(has(one_, a) && has(one_, b));
  const std::string c = co_await attach("c", "n1", 5, 3);
  Task<bool> wait13 = until([&] { return has(one_, c) && has(two_, c); });
  EXPECT_TRUE(co_await wait13);
}
TEST_F(AgentTest, SilentApiChangesNothing) { run(silent_api()); }

// What the agent did, and what failed, is told by the node itself; its report belongs to its Node
// and is made again when somebody deleted it.
Task<void> AgentTest::tells_and_reports() {
  const std::string a =
      co_await attach("a", "n1", 5, 1, {{"postCreateExec", JsonArray{"/bin/hook"}}});
  const Json made = co_await until_told("a", "Implemented");
  EXPECT_EQ(wire::find_string(made, "type"), "Normal");
  EXPECT_EQ(wire::find_string(made, "source.host"), "n1");
  EXPECT_EQ(wire::find_string(made, "involvedObject.uid"), a);
  const Json hook = co_await until_told("a", "HookFailed");
  EXPECT_EQ(wire::find_string(hook, "message"), "/bin/hook ended with status 3");
  one_.fabric.failing = true;
  (void)co_await attach("b", "n1", 5, 2);
  const Json failed = co_await until_told("b", "ImplementationFailed");
  EXPECT_EQ(wire::find_string(failed, "type"), "Warning");
  EXPECT_EQ(wire::find_string(failed, "message"), "no room in the switch");
  one_.fabric.failing = false;

  const Result<Json> node = co_await admin_->get(kNodes, "", "n1");
  const Result<Json> report = co_await admin_->get(kReports, "", "n1");
  CHECK(node && report);
  const Json& owner = wire::find(*report, "metadata.ownerReferences")->get_array().front();
  EXPECT_EQ(wire::find_string(owner, "uid"), wire::find_string(*node, "metadata.uid"));
  const Result<> deleted = co_await admin_->remove(kReports, "", "n1");
  EXPECT_TRUE(deleted);
  const std::uint64_t version = co_await remove("a");
  EXPECT_TRUE(co_await until_applied("n1", 5, version));
}
TEST_F(AgentTest, TellsAndReports) { run(tells_and_reports()); }

}  // namespace
}  // namespace fairlead::agent
