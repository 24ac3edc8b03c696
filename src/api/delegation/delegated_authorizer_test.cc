#include "api/delegation/delegated_authorizer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/delegation/review_messages.h"
#include "api/delegation/test_host.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::delegation {
namespace {

using identity::Attributes;
using identity::Decision;
using identity::User;

const User kJane{.name = "jane", .uid = "", .groups = {"devs"}, .extra = {}};

Attributes wants(std::string_view verb, std::string_view name = {}, const User& user = kJane) {
  return {.user = &user,
          .verb = verb,
          .is_resource = true,
          .group = "fairlead.dev",
          .version = "v1alpha1",
          .resource = "parcels",
          .subresource = {},
          .namespace_ = "default",
          .name = name,
          .path = {},
          .field_selector = {}};
}

Attributes wants_path(std::string_view path) {
  Attributes wanted = wants("get");
  wanted.is_resource = false;
  wanted.path = path;
  return wanted;
}

std::string text_of(const Result<Decision>& decision) {
  if (!decision) return std::string(code_name(decision.error().code));
  return decision->allowed ? "allowed" : "denied: " + decision->reason;
}

Task<void> ask(DelegatedAuthorizer& authorizer, Attributes wanted, std::string& outcome) {
  Task<Result<Decision>> asking = authorizer.authorize(wanted);
  const Result<Decision> decision = co_await asking;
  outcome = text_of(decision);
}

struct DelegatedAuthorizerTest : testing::Test {
  bool may_write = false;
  runtime::ManualRuntime runtime;
  HeldHost host{[this](const Json& spec) -> Json {
    const bool reads = wire::find_string(spec, "resourceAttributes.verb") == "get";
    if (reads || may_write) return JsonObject{{"allowed", true}};
    return JsonObject{{"allowed", false}, {"reason", "no role"}};
  }};
  AccessReviewLimits limits{.allowed_for = 10s,
                            .denied_for = 3s,
                            .answers = 100,
                            .at_once = {.all = 5, .strangers = 2, .each = 3}};
  DelegatedAuthorizer authorizer{runtime, host.poster(), limits};
  runtime::Scope scope{runtime};

  std::string outcome_of(const Attributes& wanted) {
    if (auto now = authorizer.authorize_now(wanted)) return text_of(*now);
    std::string outcome;
    scope.spawn(ask(authorizer, wanted, outcome));
    runtime.settle();
    return outcome;
  }
};

// The host is asked what a kube-apiserver would ask it, and its word counts.
TEST_F(DelegatedAuthorizerTest, TheHostDecides) {
  EXPECT_EQ(outcome_of(wants("get", "a")), "allowed");
  EXPECT_EQ(outcome_of(wants("delete", "a")), "denied: no role");
  EXPECT_EQ(host.paths.front(), kAccessReviewPath);
  EXPECT_EQ(wire::encode_json(host.specs.front()),
            R"({"user":"jane","groups":["devs"],"resourceAttributes":{"verb":"get",)"
            R"("group":"fairlead.dev","version":"v1alpha1","resource":"parcels",)"
            R"("namespace":"default","name":"a"}})");
}

// Health is open to everyone and system:masters may do everything, without a review.
TEST_F(DelegatedAuthorizerTest, WhatNeedsNoQuestion) {
  for (const char* path : {"/healthz", "/livez", "/readyz"})
    EXPECT_EQ(outcome_of(wants_path(path)), "allowed") << path;
  const User master{.name = "root", .uid = "", .groups = {"system:masters"}, .extra = {}};
  EXPECT_EQ(outcome_of(wants("delete", "a", master)), "allowed");
  EXPECT_TRUE(host.specs.empty());
  EXPECT_EQ(outcome_of(wants_path("/metrics")), "denied: no role");
  EXPECT_EQ(wire::find_string(host.specs.front(), "nonResourceAttributes.path"), "/metrics");
}

// Permission is kept longer than refusal.
TEST_F(DelegatedAuthorizerTest, PermissionIsKeptLongerThanRefusal) {
  EXPECT_EQ(outcome_of(wants("get")), "allowed");
  EXPECT_EQ(outcome_of(wants("update")), "denied: no role");
  may_write = true;
  EXPECT_EQ(outcome_of(wants("update")), "denied: no role");
  runtime.advance(3s);
  EXPECT_EQ(outcome_of(wants("update")), "allowed");
  EXPECT_EQ(outcome_of(wants("get")), "allowed");
  EXPECT_EQ(host.specs.size(), 3u);
  may_write = false;
  runtime.advance(10s);
  EXPECT_EQ(outcome_of(wants("update")), "denied: no role");
}

// One review for everyone who asks the same at once; each different question has its own.
TEST_F(DelegatedAuthorizerTest, OneReviewForTheSameQuestion) {
  host.hold();
  std::string outcomes[4];
  scope.spawn(ask(authorizer, wants("get", "a"), outcomes[0]));
  scope.spawn(ask(authorizer, wants("get", "a"), outcomes[1]));
  scope.spawn(ask(authorizer, wants("get", "b"), outcomes[2]));
  scope.spawn(ask(authorizer, wants("list"), outcomes[3]));
  runtime.settle();
  EXPECT_EQ(host.specs.size(), 3u);
  host.release();
  runtime.settle();
  EXPECT_EQ(outcomes[0], "allowed");
  EXPECT_EQ(outcomes[1], "allowed");
  EXPECT_EQ(outcomes[2], "allowed");
  EXPECT_EQ(outcomes[3], "denied: no role");
}

// A host that cannot be asked gives no permission, and none of its silence is kept.
TEST_F(DelegatedAuthorizerTest, AHostThatIsDownAllowsNothing) {
  host.down = true;
  EXPECT_EQ(outcome_of(wants("get")), "unavailable");
  host.down = false;
  EXPECT_EQ(outcome_of(wants("get")), "allowed");
}

// Every part of a question makes it another one, but the name of what is yet to be created does
// not.
TEST(AccessKey, TellsQuestionsApart) {
  User jane = kJane;
  std::vector<identity::Digest> keys;
  const auto add = [&keys](const Attributes& wanted) { keys.push_back(access_key(wanted)); };
  add(wants("get", "a"));
  add(wants("get", "b"));
  add(wants("get"));
  add(wants("list"));
  add(wants("create", "a"));
  Attributes wanted = wants("get", "a");
  wanted.subresource = "status";
  add(wanted);
  wanted = wants("get", "a");
  wanted.namespace_ = "";
  add(wanted);
  add(wants_path("/a"));
  jane.groups = {"dev", "s"};  // the same letters
  add(wants("get", "a", jane));
  jane.groups = {"devs"};
  jane.extra["k"] = {"v"};
  add(wants("get", "a", jane));
  jane.extra.clear();
  jane.uid = "1";
  add(wants("get", "a", jane));
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " and " << j;
  EXPECT_EQ(access_key(wants("create", "a")), access_key(wants("create", "b")));
}

// An answer that is no answer allows nothing; a host that says both no and yes says no.
TEST(AccessReview, WhatAnswersMean) {
  const auto decoded = [](Json status) {
    return text_of(decode_access_review(JsonObject{{"status", std::move(status)}}));
  };
  EXPECT_EQ(decoded(JsonObject{{"allowed", true}}), "allowed");
  EXPECT_EQ(decoded(JsonObject{{"allowed", true}, {"denied", true}}), "denied: ");
  EXPECT_EQ(decoded(JsonObject{{"allowed", "true"}}), "denied: ");
  EXPECT_EQ(decoded(JsonObject{{"evaluationError", "no such role"}}), "denied: no such role");
  EXPECT_EQ(decoded(nullptr), "corrupt");
  EXPECT_EQ(text_of(decode_access_review(JsonArray{})), "corrupt");
}

// The same for tokens: a user without a name is no user.
TEST(TokenReview, WhatAnswersMean) {
  const auto decoded = [](Json status) -> std::string {
    const auto user = decode_token_review(JsonObject{{"status", std::move(status)}});
    if (!user) return std::string(code_name(user.error().code));
    return *user ? (*user)->name : "nobody";
  };
  const Json jane = JsonObject{{"username", "jane"}};
  EXPECT_EQ(decoded(JsonObject{{"authenticated", true}, {"user", jane}}), "jane");
  EXPECT_EQ(decoded(JsonObject{{"authenticated", false}, {"user", jane}}), "nobody");
  EXPECT_EQ(decoded(JsonObject{{"user", jane}}), "nobody");
  EXPECT_EQ(decoded(JsonObject{{"authenticated", true}}), "corrupt");
  EXPECT_EQ(decoded("x"), "corrupt");
}

// The questions of one user, and those of all strangers, leave room for others.
TEST_F(DelegatedAuthorizerTest, NobodyTakesAllThePlaces) {
  const User anonymous = *identity::anonymous_user();
  const User joe{.name = "joe", .uid = "", .groups = {}, .extra = {}};
  host.hold();
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::vector<std::string> janes(4), strangers(3), joes(1);
  for (std::size_t i = 0; i < strangers.size(); ++i)
    scope.spawn(ask(authorizer, wants("get", names[i], anonymous), strangers[i]));
  runtime.settle();
  EXPECT_EQ(strangers, (std::vector<std::string>{"", "", "exhausted"}));
  scope.spawn(ask(authorizer, wants("get", "a", joe), joes[0]));
  runtime.settle();
  for (std::size_t i = 0; i < 2; ++i)
    scope.spawn(ask(authorizer, wants("get", names[i]), janes[i]));
  runtime.settle();
  host.release();
  runtime.settle();
  EXPECT_EQ(joes[0], "allowed");
  EXPECT_EQ(janes[1], "allowed");
  host.hold();
  runtime.advance(11s);
  for (std::size_t i = 0; i < janes.size(); ++i) {
    janes[i].clear();
    scope.spawn(ask(authorizer, wants("get", names[i]), janes[i]));
  }
  runtime.settle();
  EXPECT_EQ(janes, (std::vector<std::string>{"", "", "", "exhausted"}));
  host.release();
  runtime.settle();
}

}  // namespace
}  // namespace fairlead::delegation
