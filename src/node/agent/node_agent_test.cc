// The agent without any API: it runs the features that need none, serves its pages and its admin
// socket, and stops cleanly.
#include "node/agent/node_agent.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "foundation/http/client.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {
namespace {

// Counts; knows one object, called "thing". It gets ready when it is told to.
class TestFeature final : public NodeFeature {
 public:
  struct Witness {
    int running = 0;
    bool ready = false;
    bool had_api = false;
    bool ends = false;  // by itself
    std::function<void()> changed;
  };
  TestFeature(const NodeContext& context, Witness& witness) : witness_(witness) {
    witness.had_api = context.api != nullptr;
    witness.changed = context.readiness_changed;
    if (made_before(context)) return;
    context.metrics.gauge("test_feature_made", "1.").set(1);
    context.pages.add_text("/test", [] { return "from the feature\n"; });
  }
  // Only the first of an agent has metrics and pages: their names are the agent's.
  static bool made_before(const NodeContext& context) {
    return context.pages.page("/test").status == 200;
  }
  std::string_view name() const override { return "test"; }
  Task<void> run() override {
    if (witness_.ends) co_return;
    ++witness_.running;
    (void)co_await forever_.wait();
    --witness_.running;
  }
  Readiness readiness() const override {
    if (witness_.ready) return {.ready = true, .reason = {}};
    return {.ready = false, .reason = "the test is not ready yet"};
  }
  std::vector<std::string_view> kinds() const override { return {"thing"}; }
  Result<Explanation> why(std::string_view, std::string_view object) const override {
    if (object.empty()) return fail(Code::invalid, "a thing has a name");
    if (object != "ns/one") return fail(Code::not_found, "no such thing");
    return Explanation{.subject = "thing ns/one",
                       .witness = "the test",
                       .wanted = "to be",
                       .actual = "is not",
                       .missing = {{.what = "being", .why = "why not"}}};
  }

 private:
  Witness& witness_;
  runtime::Signal forever_;
};

FeaturePlan test_plan(TestFeature::Witness& witness, bool needs_api, std::string name = "test") {
  return {.name = std::move(name),
          .needs_api = needs_api,
          .make = [&witness](const NodeContext& context) -> Result<std::unique_ptr<NodeFeature>> {
            return std::make_unique<TestFeature>(context, witness);
          }};
}

class NodeAgentTest : public testing::Test {
 protected:
  NodeAgentTest() { std::filesystem::create_directories(folder_); }
  ~NodeAgentTest() override { std::filesystem::remove_all(folder_); }

  runtime::Endpoint socket() const {
    return {.kind = runtime::Endpoint::Kind::unix_socket, .host = (folder_ / "a.sock").string()};
  }
  AgentOptions options() const {
    AgentOptions options{.node = "n1"};
    options.metrics_listen = runtime::Endpoint{.host = "127.0.0.1", .port = 0};
    options.admin_socket = socket();
    return options;
  }
  Task<std::string> get(runtime::Endpoint at, std::string target) {
    http::Client client(runtime_, {.endpoints = {std::move(at)}});
    http::Request request;
    request.method = "GET";
    request.target = target;
    request.headers.add("Host", "localhost");
    const Result<http::Response> response = co_await client.send(std::move(request));
    client.close();
    if (!response) co_return response.error().to_string();
    std::string text = std::to_string(response->status) + " ";
    for (const Bytes& piece : response->body) text += piece.view();
    co_return text;
  }
  Task<void> without_api();
  Task<void> ended_feature();
  Task<void> cancelled_feature();

  runtime::EpollRuntime runtime_;
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  ("node_agent_" + std::to_string(runtime_.random()));
  TestFeature::Witness witness_;
};

Task<void> NodeAgentTest::without_api() {
  const std::vector<FeaturePlan> plans{test_plan(witness_, false)};
  Result<std::unique_ptr<NodeAgent>> agent = NodeAgent::open(runtime_, options(), plans);
  CHECK(agent.has_value());
  EXPECT_FALSE(witness_.had_api);
  runtime::Scope scope(runtime_);
  scope.spawn((*agent)->run());
  const runtime::Endpoint pages = *(*agent)->metrics_address();
  EXPECT_EQ(co_await get(pages, "/readyz"), "503 the test is not ready yet\n");
  EXPECT_EQ(witness_.running, 1);
  witness_.ready = true;
  witness_.changed();
  const Result<> ready = co_await (*agent)->wait_ready();
  EXPECT_TRUE(ready);
  EXPECT_EQ(co_await get(pages, "/readyz"), "200 ok\n");
  EXPECT_EQ(co_await get(pages, "/healthz"), "200 ok\n");
  EXPECT_EQ(co_await get(pages, "/test"), "200 from the feature\n");
  const std::string metrics = co_await get(pages, "/metrics");
  EXPECT_NE(metrics.find("test_feature_made 1"), std::string::npos);
  EXPECT_NE(metrics.find("fairlead_agent_ready 1"), std::string::npos);
  EXPECT_EQ(metrics.find("heartbeats"), std::string::npos);

  // The admin socket, which only its owner may use, has the same and more.
  struct stat status{};
  EXPECT_EQ(::stat(socket().host.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(co_await get(socket(), "/healthz"), "200 ok\n");
  EXPECT_EQ(co_await get(socket(), "/status"),
            "200 {\"node\":\"n1\",\"ready\":true,\"api\":false,\"refusal\":\"\",\"features\":"
            "[{\"name\":\"test\",\"ready\":true,\"reason\":\"\",\"kinds\":[\"thing\"]}]}\n");
  const std::string why = co_await get(socket(), "/why/thing/ns/one");
  EXPECT_TRUE(why.starts_with("200 {\"subject\":\"thing ns/one\"")) << why;
  EXPECT_EQ(co_await get(socket(), "/why/thing/other"), "404 no such thing\n");
  EXPECT_EQ(co_await get(socket(), "/why/thing"), "400 a thing has a name\n");
  EXPECT_EQ(co_await get(socket(), "/why/vip/1"), "404 no feature of this agent knows vips\n");
  const std::string elsewhere = co_await get(pages, "/why/thing/ns/one");
  EXPECT_TRUE(elsewhere.starts_with("404 ")) << "only the admin socket explains";

  // A second one does not take the socket of one that lives.
  TestFeature::Witness other;
  const std::vector<FeaturePlan> more{test_plan(other, false)};
  const Result<std::unique_ptr<NodeAgent>> second = NodeAgent::open(runtime_, options(), more);
  EXPECT_FALSE(second);
  if (!second)
    EXPECT_TRUE(second.error().message.starts_with("--admin-socket " + socket().host))
        << second.error().message;
  EXPECT_EQ(co_await get(socket(), "/healthz"), "200 ok\n");

  co_await scope.close();
  EXPECT_EQ(witness_.running, 0);
  EXPECT_FALSE(std::filesystem::exists(socket().host));
}
TEST_F(NodeAgentTest, RunsWithoutAnApi) { runtime_.run_until_complete(without_api()); }

// A feature is to run until it is cancelled. One that ends by itself is not ready any more.
Task<void> NodeAgentTest::ended_feature() {
  witness_.ready = witness_.ends = true;
  TestFeature::Witness other{.ready = true};
  const std::vector<FeaturePlan> plans{test_plan(witness_, false), test_plan(other, false, "b")};
  Result<std::unique_ptr<NodeAgent>> agent = NodeAgent::open(runtime_, options(), plans);
  CHECK(agent.has_value());
  runtime::Scope scope(runtime_);
  scope.spawn((*agent)->run());
  Task<Result<std::string>> waiting = (*agent)->wait_ended();
  const Result<std::string> ended =
      co_await runtime::with_timeout(runtime_, 60s, std::move(waiting));
  EXPECT_TRUE(ended && *ended == "test");
  EXPECT_EQ(co_await get(*(*agent)->metrics_address(), "/readyz"),
            "503 feature test has ended by itself\n");
  co_await scope.close();
}
TEST_F(NodeAgentTest, NoticesAFeatureThatEnds) { runtime_.run_until_complete(ended_feature()); }

// Cancelling is no end of that kind.
Task<void> NodeAgentTest::cancelled_feature() {
  witness_.ready = true;
  const std::vector<FeaturePlan> plans{test_plan(witness_, false)};
  Result<std::unique_ptr<NodeAgent>> agent = NodeAgent::open(runtime_, options(), plans);
  CHECK(agent.has_value());
  runtime::Scope scope(runtime_);
  scope.spawn((*agent)->run());
  while (witness_.running == 0) (void)co_await runtime::sleep(runtime_, 1ms);
  co_await scope.close();
  EXPECT_TRUE((*agent)->readiness().ready) << (*agent)->readiness().reason;
}
TEST_F(NodeAgentTest, CancellingIsNotAnEnd) { runtime_.run_until_complete(cancelled_feature()); }

// A feature that needs an API is left out where there is none; if nothing is left, that is an
// error.
TEST_F(NodeAgentTest, WithoutAnApiSomeFeaturesCannotRun) {
  TestFeature::Witness other;
  const std::vector<FeaturePlan> both{test_plan(witness_, false), test_plan(other, true)};
  const Result<std::unique_ptr<NodeAgent>> agent = NodeAgent::open(runtime_, options(), both);
  ASSERT_TRUE(agent);
  EXPECT_EQ((*agent)->features().size(), 1U);
  const std::vector<FeaturePlan> one{test_plan(other, true)};
  const Result<std::unique_ptr<NodeAgent>> none = NodeAgent::open(runtime_, options(), one);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "--kubeconfig or --join-dir: exactly one of them must be given: test needs an API");
  EXPECT_EQ(NodeAgent::open(runtime_, options(), {}).error().message,
            "no feature is configured: there is nothing to do");
}

// Only an answer changes what is known of a refusal.
TEST(Heartbeat, AServerThatDoesNotAnswerTakesNothingBack) {
  EXPECT_EQ(refusal_of({}), "");
  for (const Code code : {Code::unauthorized, Code::forbidden, Code::not_found})
    EXPECT_EQ(refusal_of(fail(code, "no")), "no");
  for (const Code code : {Code::unavailable, Code::timeout, Code::io, Code::exhausted})
    EXPECT_EQ(refusal_of(fail(code, "down")), std::nullopt);
}

// What an explanation says survives its way over the socket.
TEST(Explanation, TravelsAsJson) {
  const Explanation told{.subject = "thing a",
                         .witness = "w",
                         .fulfilled = false,
                         .wanted = "x",
                         .actual = "y",
                         .since = "2026-01-01T00:00:00Z",
                         .missing = {{.what = "z", .why = "because", .remedy = "do", .since = "s"}},
                         .notes = {"n"}};
  const Result<Explanation> back = parse_explanation(to_json(told));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, told);
  EXPECT_EQ(to_text(told),
            "thing a: not as it should be, says w\n"
            "  wanted:  x\n"
            "  is:      y (since 2026-01-01T00:00:00Z)\n"
            "  missing: z: because (since s)\n"
            "           do\n"
            "  note:    n\n");
  EXPECT_FALSE(parse_explanation(Json(JsonArray{})));
  EXPECT_FALSE(parse_explanation(JsonObject{{"subject", 1}}));
}

// Messages in objects are written by others: none of their characters may reach a terminal as a
// command to it. JSON escapes them by itself.
TEST(Explanation, TextHasNoControlCharacters) {
  struct Row {
    const char* name;
    std::string told;
    std::string shown;
  };
  const Row rows[] = {
      {"plain", "it's fine: größer, 網", "it's fine: größer, 網"},
      {"escape",
       "a\x1b]0;title\x07"
       "b",
       "a?]0;title?b"},
      {"line feed and tab", "a\n  missing: x\ty", "a?  missing: x?y"},
      {"delete",
       "a\x7f"
       "b",
       "a?b"},
      {"C1, in UTF-8",
       "a\xc2\x9b"
       "2Jb",
       "a?2Jb"},
      {"C1, as a bare byte",
       "a\x9b"
       "2Jb",
       "a?2Jb"},
      {"a letter next to C1",
       "a\xc2\xa0"
       "b",
       "a\xc2\xa0"
       "b"},
      {"cut off", "a\xc3", "a?"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Explanation told{.subject = row.told,
                           .witness = row.told,
                           .wanted = row.told,
                           .actual = row.told,
                           .since = row.told,
                           .missing = {{row.told, row.told, row.told, row.told}},
                           .notes = {row.told}};
    const std::string& x = row.shown;
    EXPECT_EQ(to_text(told), x + ": not as it should be, says " + x + "\n  wanted:  " + x +
                                 "\n  is:      " + x + " (since " + x + ")\n  missing: " + x +
                                 ": " + x + " (since " + x + ")\n           " + x +
                                 "\n  note:    " + x + "\n");
  }
}

}  // namespace
}  // namespace fairlead::agent
