#include "api/apiserver/reviews.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

std::string path_of(std::string_view plural, std::string_view group = "authorization.k8s.io") {
  return fmt::format("/apis/{}/v1/{}", group, plural);
}

bool allowed(const TestExchange& answer) {
  const Json review = answer.json();
  const Json* decision = wire::find(review, "status.allowed");
  EXPECT_TRUE(decision && decision->is_bool()) << answer.text;
  return decision && decision->is_bool() && decision->get_bool();
}

std::string question(std::string_view verb, std::string_view resource, std::string_view more = "") {
  return fmt::format(R"({{"spec":{{{}"resourceAttributes":{{"verb":"{}","resource":"{}",)"
                     R"("namespace":"default"}}}}}})",
                     more, verb, resource);
}

// `kubectl auth can-i` answers what a request would meet.
TEST(Reviews, OwnRights) {
  TestServer server;
  struct Case {
    const char* user;
    const char* verb;
    const char* resource;
    bool allowed;
  };
  const Case cases[] = {
      {"admin", "delete", "secrets", true},     {"viewer", "get", "configmaps", true},
      {"viewer", "get", "secrets", false},      {"viewer", "create", "configmaps", false},
      {"controller", "create", "events", true}, {"nobody", "get", "configmaps", false},
  };
  for (const Case& one : cases) {
    const auto answer = server.ask(one.user, "POST", path_of("selfsubjectaccessreviews"),
                                   question(one.verb, one.resource));
    EXPECT_EQ(answer->status, 201) << answer->text;
    EXPECT_EQ(allowed(*answer), one.allowed) << one.user << one.verb << one.resource;
    EXPECT_EQ(answer->at("kind"), "SelfSubjectAccessReview");
  }
  const auto path =
      server.ask("nobody", "POST", path_of("selfsubjectaccessreviews"),
                 R"({"spec":{"nonResourceAttributes":{"verb":"get","path":"/version"}}})");
  EXPECT_TRUE(allowed(*path));
}

// Who asks about others is an administrator; the answer is about the one named.
TEST(Reviews, RightsOfOthers) {
  TestServer server;
  const std::string about_viewer =
      question("get", "secrets", R"("user":"v","groups":["fairlead:viewers"],)");
  EXPECT_EQ(server.ask("viewer", "POST", path_of("subjectaccessreviews"), about_viewer)->status,
            403);
  const auto answer = server.ask("admin", "POST", path_of("subjectaccessreviews"), about_viewer);
  EXPECT_EQ(answer->status, 201) << answer->text;
  EXPECT_FALSE(allowed(*answer));
  const std::string local =
      "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
  EXPECT_TRUE(allowed(*server.ask(
      "admin", "POST", local, question("get", "configmaps", R"("groups":["fairlead:viewers"],)"))));
}

// Who one is, what one may do, and whose token that is.
TEST(Reviews, WhoAndWhat) {
  TestServer server;
  const auto self =
      server.ask("viewer", "POST", path_of("selfsubjectreviews", "authentication.k8s.io"), "{}");
  EXPECT_EQ(self->at("status.userInfo.username"), "viewer") << self->text;
  const auto rules = server.ask("viewer", "POST", path_of("selfsubjectrulesreviews"),
                                R"({"spec":{"namespace":"default"}})");
  const Json listed = rules->json();
  EXPECT_FALSE(wire::find(listed, "status.resourceRules")->get_array().empty()) << rules->text;
  const std::string tokens = path_of("tokenreviews", "authentication.k8s.io");
  EXPECT_EQ(server.ask("viewer", "POST", tokens, R"({"spec":{"token":"admin"}})")->status, 403);
  const auto good = server.ask("admin", "POST", tokens, R"({"spec":{"token":"viewer"}})");
  EXPECT_EQ(good->at("status.user.username"), "viewer") << good->text;
  const auto bad = server.ask("admin", "POST", tokens, R"({"spec":{"token":"guessed"}})");
  EXPECT_EQ(bad->status, 201);
  EXPECT_NE(bad->text.find(R"("authenticated":false)"), std::string::npos) << bad->text;
}

// Nonsense is refused; nothing is ever stored or listed.
TEST(Reviews, Refusals) {
  TestServer server;
  const std::string own = path_of("selfsubjectaccessreviews");
  for (const char* body : {"[]", "{}", R"({"spec":7})", R"({"spec":{}})",
                           R"({"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}})"})
    EXPECT_EQ(server.ask("admin", "POST", own, body)->status, 400) << body;
  EXPECT_EQ(
      server.ask("admin", "POST", path_of("subjectaccessreviews"), question("get", "x"))->status,
      400);
  EXPECT_EQ(server.ask("admin", "GET", own)->status, 405);
  EXPECT_EQ(server.ask("", "POST", own, question("get", "x"))->status, 401);
}

}  // namespace
}  // namespace fairlead::apiserver
