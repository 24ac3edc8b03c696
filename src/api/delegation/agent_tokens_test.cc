#include "api/delegation/agent_tokens.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/apimachinery/request/continue_token.h"
#include "api/delegation/delegated_authenticator.h"
#include "api/delegation/test_host.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::delegation {
namespace {

const AgentTokens kRules{
    .audience = "fairlead.dev", .namespace_name = "fairlead-system", .account = "fairlead-agent"};

// A token as a service account's looks from outside; nobody here can check its signature.
std::string token_for(const Json& audience, const std::string& id = "a") {
  const Json claims = JsonObject{{"aud", audience}, {"sub", "anybody"}, {"jti", id}};
  return "e30." + apimachinery::encode_base64url(wire::encode_json(claims)) + ".c2ln";
}

Json text_list(std::string_view text) { return JsonArray{Json(text)}; }

// The flag's text is a namespace and a name, and nothing else.
TEST(AgentTokens, TheAccountIsNamespaceAndName) {
  const Result<AgentTokens> good = parse_agent_tokens("a", "net/agent");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->user_name(), "system:serviceaccount:net:agent");
  for (const char* bad : {"", "agent", "/agent", "net/", "a/b/c", "Net/agent", "net/a:b"})
    EXPECT_FALSE(parse_agent_tokens("a", bad)) << bad;
}

// Only a token that says it is for our audience is asked about as an agent's.
TEST(AgentTokens, ClaimsAreOnlyLookedAt) {
  EXPECT_TRUE(claims_audience(token_for("fairlead.dev"), "fairlead.dev"));
  EXPECT_TRUE(claims_audience(token_for(JsonArray{"x", "fairlead.dev"}), "fairlead.dev"));
  EXPECT_FALSE(claims_audience(token_for("x"), "fairlead.dev"));
  EXPECT_FALSE(claims_audience(token_for(JsonArray{}), "fairlead.dev"));
  EXPECT_FALSE(claims_audience(token_for(7), "fairlead.dev"));
  for (const char* odd : {"", ".", "..", "a.b", "a.!.c", "a.W10.c", "fln1.bjE.9.x", "a.eyJhdWQi.c"})
    EXPECT_FALSE(claims_audience(odd, "fairlead.dev")) << odd;
}

// A host whose reviews the test writes, with one pod.
struct AgentTokensTest : testing::Test {
  runtime::ManualRuntime runtime;
  JsonObject extra{{"authentication.kubernetes.io/pod-name", text_list("agent-x")},
                   {"authentication.kubernetes.io/pod-uid", text_list("u1")}};
  std::string account = "system:serviceaccount:fairlead-system:fairlead-agent";
  Json confirmed = text_list("fairlead.dev");
  Json pod = JsonObject{{"metadata", JsonObject{{"name", "agent-x"}, {"uid", "u1"}}},
                        {"spec", JsonObject{{"nodeName", "n1"}}}};
  std::optional<Error> pod_error;
  std::vector<std::string> pods_read;
  HeldHost host{[this](const Json&) -> Json {
    return JsonObject{{"authenticated", true},
                      {"audiences", confirmed},
                      {"user", JsonObject{{"username", account}, {"extra", extra}}}};
  }};
  DelegatedAuthenticator authenticator{runtime, host.poster()};
  runtime::Scope scope{runtime};

  void SetUp() override {
    authenticator.accept_agents(kRules, [this](std::string namespace_name, std::string name) {
      return read_pod(std::move(namespace_name), std::move(name));
    });
  }
  Task<Result<Json>> read_pod(std::string namespace_name, std::string name) {
    pods_read.push_back(namespace_name + "/" + name);
    if (pod_error) co_return fail(*pod_error);
    co_return pod;
  }
  Task<void> ask(std::string token, std::string& outcome) {
    const std::vector<std::pair<std::string, std::string>> fields{
        {"Authorization", "Bearer " + token}};
    const identity::AuthRequest request{.headers = fields};
    Task<Result<identity::UserRef>> asking = authenticator.authenticate(request);
    const Result<identity::UserRef> user = co_await asking;
    outcome = !user ? std::string(code_name(user.error().code)) : *user ? (*user)->name : "nobody";
    if (user && *user && !identity::node_of(**user).empty()) outcome += " as node";
  }
  std::string outcome_of(const std::string& token) {
    std::string outcome;
    scope.spawn(ask(token, outcome));
    runtime.settle();
    return outcome;
  }
  std::string agent() { return outcome_of(token_for("fairlead.dev", std::to_string(++tokens))); }
  int tokens = 0;
};

// The token of a pod on n1 is n1's, whatever rights its service account has.
TEST_F(AgentTokensTest, ProvesTheNodeOfItsPod) {
  EXPECT_EQ(agent(), "system:node:n1 as node");
  EXPECT_EQ(wire::encode_json(*wire::find(host.specs.front(), "audiences")), R"(["fairlead.dev"])");
  EXPECT_EQ(pods_read, std::vector<std::string>{"fairlead-system/agent-x"});
}

// A cluster that names the node in the review needs no second question.
TEST_F(AgentTokensTest, TheReviewMayNameTheNode) {
  extra["authentication.kubernetes.io/node-name"] = text_list("n2");
  EXPECT_EQ(agent(), "system:node:n2 as node");
  EXPECT_TRUE(pods_read.empty());
  extra["authentication.kubernetes.io/node-name"] = text_list("n2:x");
  EXPECT_EQ(agent(), "unauthorized");
}

// Everything short of "our audience, the agents' account, a living pod of its own" proves nobody.
TEST_F(AgentTokensTest, RefusesEverythingElse) {
  confirmed = text_list("other");
  EXPECT_EQ(agent(), "unauthorized");
  confirmed = nullptr;  // a cluster that knows nothing of audiences
  EXPECT_EQ(agent(), "unauthorized");
  confirmed = text_list("fairlead.dev");
  account = "system:serviceaccount:default:fairlead-agent";
  EXPECT_EQ(agent(), "unauthorized");
  account = "system:node:n1";
  EXPECT_EQ(agent(), "unauthorized");
  account = kRules.user_name();
  const JsonObject bound = extra;
  extra.clear();  // kubectl create token
  EXPECT_EQ(agent(), "unauthorized");
  extra = bound;
  pod =
      JsonObject{{"metadata", JsonObject{{"uid", "u2"}}}, {"spec", JsonObject{{"nodeName", "n1"}}}};
  EXPECT_EQ(agent(), "unauthorized");  // an earlier pod of that name
  pod = JsonObject{{"metadata", JsonObject{{"uid", "u1"}}}};
  EXPECT_EQ(agent(), "unauthorized");  // not scheduled
  pod_error = Error{Code::not_found, "no such pod"};
  EXPECT_EQ(agent(), "unauthorized");
  pod_error.reset();
  pod =
      JsonObject{{"metadata", JsonObject{{"uid", "u1"}}}, {"spec", JsonObject{{"nodeName", "n1"}}}};
  EXPECT_EQ(agent(), "system:node:n1 as node");
}

// A pod that cannot be read says nothing about the token, and nothing is kept.
TEST_F(AgentTokensTest, APodThatCannotBeReadDecidesNothing) {
  pod_error = Error{Code::forbidden, "pods is forbidden"};
  EXPECT_EQ(outcome_of(token_for("fairlead.dev")), "unavailable");
  pod_error.reset();
  EXPECT_EQ(outcome_of(token_for("fairlead.dev")), "system:node:n1 as node");
}

// Tokens for other audiences stay what they were: reviewed for the cluster's own, and no node.
TEST_F(AgentTokensTest, OtherTokensAreReviewedAsEver) {
  EXPECT_EQ(outcome_of(token_for("https://kubernetes.default.svc")), kRules.user_name());
  EXPECT_FALSE(wire::find(host.specs.front(), "audiences"));
  EXPECT_TRUE(pods_read.empty());
}

}  // namespace
}  // namespace fairlead::delegation
