#include "tools/bench/attachment_load.h"

#include <gtest/gtest.h>

#include "foundation/http/test_world.h"
#include "tools/bench/settings.h"

namespace fairlead::bench {
namespace {

// As much of the API as the load uses: attachments that get an address at once and an interface
// later, and a watch that shows it.
class ApiModel final : public http::Handler {
 public:
  explicit ApiModel(runtime::Runtime& runtime) : runtime_(runtime), later_(runtime) {}

  Task<void> serve(http::Exchange& exchange) override {
    const std::string method = exchange.request().method;
    const std::string target = exchange.request().target;
    if (target.contains("watch=true")) co_return co_await watch(exchange);
    http::Response response;
    response.status = 200;
    std::string body = "{}";
    if (target.starts_with("/api/v1/nodes")) {
      nodes_asked_for = target;
      body = R"({"items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]})";
    } else if (target.ends_with("/subnets")) {
      subnets.push_back(exchange.request().body);
      body = R"({"status": {"validated": true}})";
    } else if (target.contains("limit=1")) {
      body = R"({"metadata": {"resourceVersion": "1"}})";
    } else if (target.ends_with("/networkattachments")) {
      ++creates;
      response.status = refuse_creates ? 403 : 201;
      if (!refuse_creates) create(exchange.request().body);
    } else if (method == "DELETE" && target.contains("/networkattachments/")) {
      ++deletes;
      const std::string name = target.substr(target.rfind('/') + 1);
      if (!lose_deletions) publish("DELETED", name, "{}");
    }
    response.body.push_back(Bytes(std::move(body)));
    (void)co_await exchange.respond(std::move(response));
  }
  Task<void> close() { return later_.close(); }

  Duration interface_after = 20ms;
  bool refuse_creates = false, lose_deletions = false, same_address = false, break_hosts = false;
  std::uint64_t creates = 0, deletes = 0;
  std::vector<std::string> subnets, hooks;
  std::string nodes_asked_for;

 private:
  void create(const std::string& body) {
    const Json object = wire::parse_json(body)->value;
    const std::string name(wire::find_string(object, "metadata.name"));
    if (const Json* hook = wire::find(object, "spec.postCreateExec"))
      hooks.push_back(wire::encode_json(*hook));
    const std::string address =
        same_address ? "10.0.0.2" : "10.0.0." + std::to_string(1 + creates % 250);
    const std::string status = "\"ipv4\": \"" + address + "\"";
    publish("ADDED", name, "{" + status + "}");
    later_.spawn(implement(name, status));
  }
  Task<void> implement(std::string name, std::string status) {
    if (!co_await runtime::sleep(runtime_, interface_after)) co_return;
    if (break_hosts) status += R"(, "errors": {"host": ["no room"]})";
    publish("MODIFIED", name, "{" + status + R"(, "ifcName": "fl1"})");
  }
  void publish(const std::string& type, const std::string& name, const std::string& status) {
    events_ += R"({"type": ")" + type + R"(", "object": {"metadata": {"name": ")" + name +
               R"("}, "status": )" + status + "}}\n";
    changed_.notify();
  }
  Task<void> watch(http::Exchange& exchange) {
    http::ResponseHead head{.status = 200, .headers = {{"content-type", "application/json"}}};
    Result<> alive = co_await exchange.start(std::move(head));
    while (alive) {
      if (events_.empty()) {
        alive = co_await changed_.wait();
      } else {
        alive = co_await exchange.write(Bytes(std::exchange(events_, {})));
      }
    }
  }

  runtime::Runtime& runtime_;
  runtime::Scope later_;
  std::string events_;
  runtime::Signal changed_;
};

struct World {
  World() : model(runtime), server(runtime, model, {}), scope(runtime) {
    target.endpoint = {runtime::Endpoint::Kind::tcp, "api", 80};
    target.tls = false;
    target.authority = "api";
    scope.spawn(server.serve(*runtime.listen(target.endpoint, nullptr)));
    runtime.run_for(1s);  // the epoch stands for "not yet"
  }
  // A run from begin to end; what it came to is in `json` and `problems`.
  void run(AttachmentSettings settings) {
    AttachmentLoad load(runtime, target, *check_settings(std::move(settings)), "run");
    ASSERT_TRUE(*runtime.run(load.prepare()));
    const auto measured = runtime.run(load.measure());
    ASSERT_TRUE(measured && *measured) << measured->error().to_string();
    ASSERT_TRUE(*runtime.run(load.clean_up()));
    json = load.json();
    problems = load.problems();
  }
  double figure(std::string_view path) const {
    const Json* value = wire::find(json, path);
    return value && value->is_number() ? value->to_number<double>() : -1;
  }

  http::MemoryRuntime runtime;
  ApiModel model;
  http::Server server;
  runtime::Scope scope;
  Target target;
  Json json;
  std::vector<std::string> problems;
};

using Lines = std::vector<std::string>;

TEST(AttachmentLoad, AGoodRun) {
  World world;
  world.run({.networks = 2, .top_size = 5, .exponent = 0, .attachments = 30, .rate = 20});
  EXPECT_EQ(world.problems, Lines{});
  EXPECT_EQ(world.figure("created"), 30);
  EXPECT_EQ(world.figure("ready"), 30);
  EXPECT_EQ(world.figure("deletesSeen"), 30);
  EXPECT_EQ(world.figure("deletesThatWaited"), 0);
  EXPECT_NEAR(world.figure("milliseconds.cruise.createToReady.p50"), 20, 1);
}

// Interfaces take three seconds and are deleted after one: the load waits for them, but neither the
// deletes nor the creates that come meanwhile are slow for that.
TEST(AttachmentLoad, ItsOwnWaitingIsNobodysLatency) {
  World world;
  world.model.interface_after = 3s;
  world.run({.networks = 1,
             .top_size = 10,
             .exponent = 0,
             .attachments = 40,
             .rate = 10,
             .subnet_size_factor = 4,
             .connections = 2});
  EXPECT_EQ(world.problems, Lines{});
  EXPECT_GT(world.figure("deletesThatWaited"), 0);
  EXPECT_GT(world.figure("deletesWaitedSeconds"), 1);
  for (const char* stage : {"warmUp.create", "warmUp.remove", "cruise.create", "cruise.remove"})
    EXPECT_LT(world.figure("milliseconds." + std::string(stage) + ".max"), 10) << stage;
  EXPECT_EQ(world.figure("late"), 0);
}

// The same as fast as it goes.
TEST(AttachmentLoad, WaitingWithoutARate) {
  World world;
  world.model.interface_after = 3s;
  world.run({.networks = 1, .top_size = 4, .attachments = 12, .rate = 0, .connections = 2});
  EXPECT_EQ(world.problems, Lines{});
  EXPECT_LT(world.figure("milliseconds.cruise.remove.max"), 10);
}

// What went wrong is what the run is judged by.
TEST(AttachmentLoad, Problems) {
  struct Case {
    void (*change)(ApiModel&);
    const char* problem;
  };
  const Case cases[] = {
      {[](ApiModel& model) { model.lose_deletions = true; },
       "6 deletions were answered and never seen"},
      {[](ApiModel& model) { model.same_address = true; },
       "5 addresses were given twice, the first: 10.0.0.2 of run-1 is also that of run-0"},
      {[](ApiModel& model) { model.break_hosts = true; },
       "6 attachments had errors on their host, the first: run-0: no room"},
      {[](ApiModel& model) { model.refuse_creates = true; },
       "6 creates failed, the first: run-0: 403 {}"},
      {[](ApiModel& model) { model.interface_after = 1h; }, "6 never got ready"},
  };
  for (const Case& wrong : cases) {
    World world;
    wrong.change(world.model);
    world.run({.networks = 1, .top_size = 6, .attachments = 6, .rate = 100, .connections = 1});
    ASSERT_FALSE(world.problems.empty()) << wrong.problem;
    EXPECT_NE(std::ranges::find(world.problems, wrong.problem), world.problems.end())
        << wrong.problem << " is not among " << world.problems.front();
  }
}

TEST(AttachmentLoad, StopsAtTheFirstFailure) {
  World world;
  world.model.break_hosts = true;
  world.run(
      {.networks = 1, .top_size = 100, .attachments = 100, .rate = 10, .stop_on_failure = true});
  EXPECT_LT(world.model.creates, 5U);
  EXPECT_TRUE(world.problems.back().starts_with("stopped at the first failure after "))
      << world.problems.back();
}

// Settings that reach the API: subnets of a network, which Nodes, what is tested and how.
TEST(AttachmentLoad, WhatItAsksFor) {
  World world;
  world.run({.networks = 1,
             .top_size = 4,
             .attachments = 4,
             .rate = 100,
             .base_address = "172.24.0.0",
             .subnets_per_network = 2,
             .node_selector = "role=workload",
             .ping = true,
             .ping_program = "/bin/ping-test",
             .ping_count = 7,
             .settle = 1s});
  ASSERT_EQ(world.model.subnets.size(), 2U);
  EXPECT_TRUE(world.model.subnets[0].contains("172.24.0.0/29")) << world.model.subnets[0];
  EXPECT_TRUE(world.model.subnets[1].contains("172.24.0.8/29")) << world.model.subnets[1];
  EXPECT_TRUE(world.model.subnets[1].contains("run-net-0b")) << world.model.subnets[1];
  EXPECT_EQ(world.model.nodes_asked_for, "/api/v1/nodes?labelSelector=role%3Dworkload");
  ASSERT_EQ(world.model.hooks.size(), 4U);
  EXPECT_EQ(world.model.hooks[0], R"(["/bin/ping-test","up","${ifname}","${ipv4}","","7"])");
  // Nobody here runs hooks: each waited for the one before it, and went on without.
  EXPECT_EQ(world.problems, Lines{"4 tests were never reported"});
}

// A fraction of none: no hooks at all.
TEST(AttachmentLoad, UntestedAttachmentsHaveNoHooks) {
  World world;
  world.run({.networks = 1,
             .top_size = 4,
             .attachments = 4,
             .rate = 100,
             .ping = true,
             .test_fraction = 0});
  EXPECT_TRUE(world.model.hooks.empty());
  EXPECT_EQ(world.problems, Lines{});
}

// /metrics shows the run while it is under way.
TEST(AttachmentLoad, ServesMetrics) {
  World world;
  AttachmentLoad load(world.runtime, world.target,
                      *check_settings(AttachmentSettings{
                          .networks = 1, .top_size = 40, .attachments = 40, .rate = 10}),
                      "run");
  Target scraped = world.target;
  scraped.endpoint = {runtime::Endpoint::Kind::tcp, "driver", 9376};
  ASSERT_TRUE(load.serve_metrics(scraped.endpoint));
  ASSERT_TRUE(*world.runtime.run(load.prepare()));
  runtime::Scope scope(world.runtime);
  const auto measure = [](AttachmentLoad& measured) -> Task<void> {
    EXPECT_TRUE(co_await measured.measure());
  };
  scope.spawn(measure(load));
  world.runtime.run_for(2s);
  const auto connection = make_http1_connection(world.runtime, scraped);
  const auto scrape = [&] {
    const Call call{.target = "/metrics", .want_body = true};
    const auto answer = world.runtime.run(connection->exchange(call));
    EXPECT_TRUE(answer && *answer);
    return answer && *answer ? (*answer)->body : std::string();
  };
  const std::string text = scrape();
  EXPECT_TRUE(text.contains("fairlead_driver_info{run=\"run\"} 1")) << text;
  EXPECT_TRUE(text.contains("requests_total{operation=\"create\",code=\"201\"} 2")) << text;
  world.runtime.run_for(60s);
  EXPECT_EQ(scope.size(), 0U);
}

}  // namespace
}  // namespace fairlead::bench
