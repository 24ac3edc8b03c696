// What many requests, and those of a stolen credential, may take of a server, and what is left.
#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kEvents = "/api/v1/namespaces/default/events";

// A client that never takes its answer.
class StuckClient final : public http::Exchange {
 public:
  StuckClient(std::string_view user, std::string_view method, std::string_view target,
              std::string body) {
    request_.method = method;
    request_.target = target;
    request_.body = std::move(body);
    request_.headers.add("Authorization", "Bearer " + std::string(user));
    request_.headers.add("Content-Type", "application/json");
  }
  const http::Request& request() const override { return request_; }
  http::Request& request() override { return request_; }
  const runtime::PeerInfo& peer() const override { return peer_; }
  Task<Result<>> respond(http::Response) override { return stuck(); }
  Task<Result<>> start(http::ResponseHead) override { return stuck(); }
  Task<Result<>> write(Bytes) override { return stuck(); }
  Task<Result<>> finish() override { return stuck(); }

  runtime::Signal never;

 private:
  Task<Result<>> stuck() { co_return co_await never.wait(); }
  http::Request request_;
  runtime::PeerInfo peer_;
};

struct LoadCase {
  const char* name;
  const char* method;
  std::string target;
  bool body;
};

std::string map(int number) {
  return R"({"metadata":{"name":"m)" + std::to_string(number) + R"("}})";
}

// Reads, writes and watches each have their seats: who finds none is told when to come back, the
// other two kinds are served, and a seat that is given back can be taken.
TEST(Load, EachKindOfRequestHasItsSeats) {
  const LoadCase cases[] = {{"reads", "GET", std::string(kMaps), false},
                            {"writes", "POST", std::string(kMaps), true},
                            {"watches", "GET", std::string(kMaps) + "?watch=true", false}};
  for (const LoadCase& full : cases) {
    TestServer server({}, {.reads = 2, .writes = 2, .watches = 2});
    std::vector<std::unique_ptr<StuckClient>> clients;
    runtime::Scope stuck(server.runtime);
    for (int i = 0; i < 2; ++i) {
      clients.push_back(std::make_unique<StuckClient>("admin", full.method, full.target,
                                                      full.body ? map(i) : ""));
      stuck.spawn(server.api.serve(*clients.back()));
      server.runtime.settle();
    }
    int number = 10;
    std::vector<std::unique_ptr<TestExchange>> all;
    for (const LoadCase& c : cases) {
      const auto& asked =
          all.emplace_back(server.begin("admin", c.method, c.target, c.body ? map(number++) : ""));
      const bool refused = c.name == full.name;
      EXPECT_EQ(asked->status, refused ? 429 : c.body ? 201 : 200) << c.name << " of " << full.name;
      if (!refused) continue;
      EXPECT_EQ(asked->headers.get("Retry-After"), "1");
      EXPECT_EQ(asked->at("reason"), "TooManyRequests");
    }
    const std::string counted = std::string("fairlead_apiserver_requests_rejected_total{reason=\"")
                                    .append(full.name)
                                    .append("\"} 1\n");
    EXPECT_NE(server.metrics.expose().find(counted), std::string::npos) << full.name;
    stuck.cancel();
    server.runtime.settle();
    const auto again = server.begin("admin", full.method, full.target, full.body ? map(20) : "");
    EXPECT_EQ(again->status, full.body ? 201 : 200) << full.name;
    server.fibers.cancel();
    server.runtime.settle();
  }
}

// One node's credential opens a tenth of the watches; everybody else's go on.
TEST(Load, ANodeHasATenth) {
  TestServer server({}, {.reads = 20, .writes = 20, .watches = 20});
  const std::string parcels = "/apis/fairlead.dev/v1alpha1/parcels?watch=true";
  std::vector<std::unique_ptr<TestExchange>> open;
  for (int i = 0; i < 2; ++i) {
    open.push_back(server.begin("n1", "GET", parcels));
    EXPECT_EQ(open.back()->status, 200) << open.back()->text;
  }
  EXPECT_EQ(server.ask("n1", "GET", parcels)->status, 429);
  for (const char* other : {"n2", "viewer", "admin"}) {
    open.push_back(server.begin(other, "GET", parcels));
    EXPECT_EQ(open.back()->status, 200) << other;
  }
  EXPECT_NE(server.metrics.expose().find(
                "fairlead_apiserver_requests_rejected_total{reason=\"user_watches\"} 1\n"),
            std::string::npos);
  server.fibers.cancel();
  server.runtime.settle();
}

// Who asks is told from the head, and with it how much of a body is worth reading.
TEST(Load, CallersAreRecognisedByTheHead) {
  TestServer server;
  struct Case {
    const char* token;
    http::Standing standing;
    const char* name;
    bool body;
  };
  const Case cases[] = {{"", http::Standing::stranger, "", false},
                        {"guessed", http::Standing::stranger, "", false},
                        {"n1", http::Standing::limited, "system:node:n1", true},
                        {"viewer", http::Standing::trusted, "viewer", true},
                        {"admin", http::Standing::trusted, "admin", true}};
  for (const Case& c : cases) {
    http::Request head;
    head.method = "POST";
    head.target = kMaps;
    if (*c.token) head.headers.add("authorization", "Bearer " + std::string(c.token));
    const http::Caller caller = server.api.recognise(head, {});
    EXPECT_EQ(caller.standing, c.standing) << c.token;
    EXPECT_EQ(caller.name, c.name);
    EXPECT_EQ(caller.body_bytes > 0, c.body) << c.token;
  }
}

// What the HTTP server refuses by itself reads as Kubernetes' own refusals do.
TEST(Load, RefusalsAreStatuses) {
  TestServer server;
  const auto said = [&](int code) {
    const http::Response response = server.api.refusal(code, "limit is 3145728");
    EXPECT_EQ(response.status, code);
    EXPECT_EQ(response.headers.get("content-type"), "application/json");
    auto parsed = wire::parse_json(response.body_text());
    EXPECT_TRUE(parsed);
    return std::move(parsed->value);
  };
  const Json large = said(413);
  EXPECT_EQ(wire::find_string(large, "kind"), "Status");
  EXPECT_EQ(wire::find_string(large, "reason"), "RequestEntityTooLarge");
  EXPECT_EQ(wire::find_string(large, "message"), "Request entity too large: limit is 3145728");
  EXPECT_EQ(wire::find_string(said(429), "reason"), "TooManyRequests");
  EXPECT_EQ(server.api.refusal(429, "x").headers.get("retry-after"), "1");
  EXPECT_EQ(server.api.refusal(431, "x").status, 431);
}

// What became of what is the server's to tell: a node's credential cannot fill the store with
// Events.
TEST(Load, NodesWriteNoEvents) {
  TestServer server;
  const std::string event = wire::encode_json(JsonObject{
      {"metadata", JsonObject{{"name", "e"}}},
      {"involvedObject", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n1"}}},
      {"source", JsonObject{{"component", "agent"}, {"host", "n1"}}}});
  EXPECT_EQ(server.ask("n1", "POST", kEvents, event)->status, 403);
  EXPECT_EQ(server.ask("admin", "POST", kEvents, event)->status, 201);
  EXPECT_EQ(server.ask("n1", "PUT", std::string(kEvents) + "/e", event)->status, 403);
}

// What a node writes is small.
TEST(Load, ObjectsOfNodesAreSmall) {
  TestServer server;
  server.create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  const auto report = [](std::size_t size) {
    return wire::encode_json(JsonObject{
        {"metadata", JsonObject{{"name", "n1"},
                                {"annotations", JsonObject{{"text", std::string(size, 'x')}}}}}});
  };
  const std::string reports = "/apis/fairlead.dev/v1alpha1/logbooks";
  const auto large = server.ask("n1", "POST", reports, report(99'000));
  EXPECT_EQ(large->status, 413) << large->text;
  const auto small = server.ask("n1", "POST", reports, report(1'000));
  EXPECT_EQ(small->status, 201) << small->text;
}

std::string sized_report(std::size_t size, int number) {
  return wire::encode_json(JsonObject{
      {"metadata", JsonObject{{"name", "n1"},
                              {"annotations", JsonObject{{"text", std::string(size, 'x')},
                                                         {"n", std::to_string(number)}}}}}});
}

// Whatever a node writes over and over has a pace, which a node at work does not meet. Others, and
// other nodes, are not held up.
TEST(Load, WritesOfNodesHaveAPace) {
  TestServer server;
  server.create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  const std::string reports = "/apis/fairlead.dev/v1alpha1/logbooks";
  const std::string merge = "application/merge-patch+json";
  EXPECT_EQ(server.ask("n1", "POST", reports, sized_report(90'000, 0))->status, 201);
  int number = 1;
  const auto patch = [&](const char* user, std::size_t size) {
    return server.ask(user, "PATCH", reports + "/n1", sized_report(size, number++), merge);
  };
  // The most that an agent says: once a second for a minute, then every eight seconds.
  for (int i = 0; i < 60; ++i) {
    server.runtime.advance(1s);
    EXPECT_EQ(patch("n1", 90'000)->status, 200) << i;
  }
  for (int i = 0; i < 200; ++i) {
    server.runtime.advance(8s);
    EXPECT_EQ(patch("n1", 90'000)->status, 200) << i;
  }
  // What is not stored costs nothing.
  for (int i = 0; i < 100; ++i) {
    const auto tried = server.ask("n1", "PATCH", reports + "/n1?dryRun=All",
                                  sized_report(90'000, number++), merge);
    EXPECT_EQ(tried->status, 200) << i;
  }
  // Without a pause: four megabytes.
  int written = 0;
  std::unique_ptr<TestExchange> last;
  for (; written < 100; ++written) {
    last = patch("n1", 90'000);
    if (last->status != 200) break;
  }
  EXPECT_EQ(last->status, 429);
  EXPECT_GT(written, 30);
  EXPECT_LT(written, 60);
  EXPECT_NE(last->headers.get("Retry-After"), "");
  EXPECT_EQ(server.metrics.expose().find(
                "fairlead_apiserver_requests_rejected_total{reason=\"node_writes\"} 0\n"),
            std::string::npos);
  EXPECT_EQ(patch("admin", 90'000)->status, 200);
  server.create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n2"}}}});
  const auto other = server.ask("n2", "POST", reports, R"({"metadata":{"name":"n2"}})");
  EXPECT_EQ(other->status, 201) << other->text;
  server.runtime.advance(2s);
  EXPECT_EQ(patch("n1", 90'000)->status, 200);
}

// Telling the status of moorings has a pace of its own: a thousand of them, each told three
// times, pass at once, and what else the node has to say is not held up by more.
TEST(Load, MooringsOfANodeHaveTheirOwnPace) {
  TestServer server;
  server.create("/api/v1/nodes", JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  const std::string moorings = "/apis/fairlead.dev/v1alpha1/namespaces/default/moorings";
  const Json mooring =
      JsonObject{{"metadata", JsonObject{{"name", "a"}}}, {"spec", JsonObject{{"node", "n1"}}}};
  server.create(moorings, mooring);
  int number = 0;
  const auto tell = [&](std::size_t size) {
    const std::string text = std::string(size, 'x') + std::to_string(number++);
    const Json status = JsonObject{{"status", JsonObject{{"line", text}}}};
    return server.ask("n1", "PATCH", moorings + "/a/status", wire::encode_json(status),
                      "application/merge-patch+json");
  };
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(tell(9'000)->status, 200) << i;
  int written = 0;
  while (written < 1'000 && tell(60'000)->status == 200) ++written;
  EXPECT_GT(written, 300);
  EXPECT_LT(written, 600);  // 32 MiB in all
  EXPECT_EQ(tell(60'000)->status, 429);
  const auto report = server.ask("n1", "POST", "/apis/fairlead.dev/v1alpha1/logbooks",
                                 R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(report->status, 201) << report->text;
}

}  // namespace
}  // namespace fairlead::apiserver
