#include "api/identity/authorizer.h"

#include <gtest/gtest.h>

#include <set>

#include "api/identity/test_support.h"
#include "api/identity/test_wishes.h"
#include "api/resource/test_kinds.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::identity {
namespace {

using namespace testing;

constexpr const char* kOurs = "fairlead.dev";

void expect_all(const User& user, const std::vector<Expectation>& expectations) {
  testing::expect_all(resource::test_catalog(), World("moorings"), user, expectations);
}

// Admins may do everything, by either group.
TEST(RoleAuthorizer, admin) {
  for (const char* group : {"system:masters", "fairlead:admins"})
    expect_all(member("a", {group}), {{{"delete", "", "secrets"}, true},
                                      {{"impersonate", "", "users"}, true},
                                      {{"create", kOurs, "parcels"}, true}});
}

// Viewers read everything but secrets and write nothing.
TEST(RoleAuthorizer, viewer) {
  expect_all(member("v", {"fairlead:viewers"}),
             {{{"get", kOurs, "parcels", "", "default", "a"}, true},
              {{"list", "", "nodes"}, true},
              {{"watch", kOurs, "moorings"}, true},
              {{"get", kOurs, "moorings", "status", "default", "a"}, true},
              {{"get", "", "secrets", "", "default", "a"}, false},
              {{"list", "", "secrets"}, false},
              {{"create", kOurs, "parcels"}, false},
              {{"patch", kOurs, "moorings", "status", "default", "a"}, false},
              {{"delete", "", "configmaps", "", "default", "a"}, false},
              {{"impersonate", "", "users"}, false},
              {{"create", "authorization.k8s.io", "selfsubjectaccessreviews"}, true}});
}

// Controllers write Fairlead's own kinds, leases, events and the status of what they serve.
TEST(RoleAuthorizer, controller) {
  expect_all(member("c", {"fairlead:controllers"}),
             {{{"create", kOurs, "parcels"}, true},
              {{"update", kOurs, "moorings", "status", "default", "a"}, true},
              {{"deletecollection", kOurs, "parcels"}, true},
              {{"list", "", "services"}, true},
              {{"patch", "", "services", "status", "default", "a"}, true},
              {{"patch", "", "services", "", "default", "a"}, false},
              {{"update", "coordination.k8s.io", "leases", "", "default", "a"}, true},
              {{"create", "", "events", "", "default"}, true},
              {{"get", "", "secrets", "", "default", "a"}, false},
              {{"delete", "", "namespaces", "", "", "default"}, false},
              {{"create", "", "nodes"}, false}});
}

// Paths: health and version for everyone, discovery for anyone known, metrics for observers.
TEST(RoleAuthorizer, paths) {
  const RoleAuthorizer authorizer(resource::test_catalog(), nullptr);
  const User anonymous = *anonymous_user();
  const User known = member("jane", {}), viewer = member("v", {"fairlead:viewers"});
  const User admin = member("a", {"system:masters"});
  struct Case {
    const char* verb;
    const char* path;
    bool anonymous, known, viewer;
  };
  const Case cases[] = {
      {"get", "/healthz", true, true, true},
      {"get", "/readyz/store", true, true, true},
      {"head", "/livez", true, true, true},
      {"get", "/version", true, true, true},
      {"post", "/healthz", false, false, false},
      {"get", "/healthzz", false, false, false},
      {"get", "/api", false, true, true},
      {"get", "/apis/fairlead.dev", false, true, true},
      {"get", "/openapi/v3", false, true, true},
      {"get", "/metrics", false, false, true},
      {"get", "/debug/pprof", false, false, false},
      {"post", "/fairlead.dev/join", true, true, true},
      {"get", "/fairlead.dev/join/ca", true, true, true},
      {"get", "/fairlead.dev/join", false, false, false},
  };
  for (const Case& c : cases) {
    Attributes wanted;
    wanted.is_resource = false;
    wanted.verb = c.verb;
    wanted.path = c.path;
    const auto allowed = [&](const User& user) {
      wanted.user = &user;
      return authorizer.decide(wanted).allowed;
    };
    EXPECT_EQ(allowed(anonymous), c.anonymous) << c.verb << " " << c.path;
    EXPECT_EQ(allowed(known), c.known) << c.verb << " " << c.path;
    EXPECT_EQ(allowed(viewer), c.viewer) << c.verb << " " << c.path;
    EXPECT_TRUE(allowed(admin)) << c.path;
  }
}

// Anonymous and roleless users get no resource at all.
TEST(RoleAuthorizer, nobody_reads_resources) {
  const std::vector<Expectation> nothing = {{{"list", kOurs, "parcels"}, false},
                                            {{"get", "", "namespaces", "", "", "default"}, false},
                                            {{"create", kOurs, "parcels"}, false}};
  expect_all(*anonymous_user(), nothing);
  expect_all(member("jane", {"dev"}), nothing);
}

// Denials read as Kubernetes words them.
TEST(Forbidden, message) {
  const User jane = member("jane", {});
  EXPECT_EQ(forbidden_message(attributes(jane, {"get", kOurs, "parcels", "status", "default", "a"}),
                              Decision::deny("why")),
            "parcels.fairlead.dev \"a\" is forbidden: User \"jane\" cannot get resource "
            "\"parcels/status\" in API group \"fairlead.dev\" in the namespace \"default\": why");
  EXPECT_EQ(forbidden_message(attributes(jane, {"list", "", "nodes"}), Decision::deny({})),
            "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" at "
            "the cluster scope");
  Attributes path;
  path.user = &jane;
  path.is_resource = false;
  path.verb = "get";
  path.path = "/metrics";
  EXPECT_EQ(forbidden_message(path, Decision::deny({})),
            "forbidden: User \"jane\" cannot get path \"/metrics\"");
}

// Every listed rule without conditions is one that the authorizer grants.
TEST(Rules, listing_agrees_with_decisions) {
  const RoleAuthorizer authorizer(resource::test_catalog(), nullptr);
  for (const User& user : {member("v", {"fairlead:viewers"}), member("c", {"fairlead:controllers"}),
                           member("jane", {})}) {
    const RuleList list = authorizer.rules_for(user, "default");
    EXPECT_FALSE(list.incomplete);
    EXPECT_FALSE(list.resources.empty());
    EXPECT_FALSE(list.paths.empty());
    for (const ResourceRule& rule : list.resources)
      for (const std::string& verb : rule.verbs)
        for (const std::string& group : rule.groups)
          for (const std::string& resource : rule.resources) {
            const std::size_t slash = resource.find('/');
            const std::string kind = resource == "*" ? "things" : resource.substr(0, slash);
            const std::string sub = slash == std::string::npos ? "" : resource.substr(slash + 1);
            const Wish wish{verb.c_str(), group.c_str(), kind.c_str(), sub.c_str(), "default", "x"};
            EXPECT_TRUE(authorizer.decide(attributes(user, wish)).allowed)
                << verb << " " << resource;
            EXPECT_NE(resource, "secrets");
          }
  }
  // Of a node: what each kind says, the lease only where it is.
  const auto listed = [&](std::string_view namespace_) {
    std::set<std::string> rules;
    const RuleList node = authorizer.rules_for(node_user("n1"), namespace_);
    EXPECT_TRUE(node.incomplete);
    for (const ResourceRule& rule : node.resources) {
      std::string text = rule.resources.front() + ":";
      for (const std::string& verb : rule.verbs) text += " " + verb;
      for (const std::string& name : rule.names) text += " of " + name;
      if (rule.groups.front().find("authori") == 0 || rule.groups.front().find("authent") == 0)
        continue;
      rules.insert(text);
    }
    return rules;
  };
  std::set<std::string> rules{"transactions: create",
                              "parcels: get list watch",
                              "moorings: get list watch",
                              "moorings/status: get update patch",
                              "logbooks: get create update patch of n1",
                              "nodes: get list watch of n1",
                              "nodes/status: get update patch of n1"};
  EXPECT_EQ(listed("default"), rules);
  rules.insert("leases: get list watch create update patch delete of n1");
  EXPECT_EQ(listed("kube-node-lease"), rules);
  const RuleList admin = authorizer.rules_for(member("a", {"system:masters"}), "default");
  ASSERT_EQ(admin.resources.size(), 1u);
  EXPECT_EQ(admin.resources[0].verbs, (std::vector<std::string>{"*"}));
}

// One that says the same to everybody, at once or when asked to wait.
class Fixed final : public Authorizer {
 public:
  Fixed(Result<Decision> decision, bool waits) : decision_(std::move(decision)), waits_(waits) {}
  std::optional<Result<Decision>> authorize_now(const Attributes&) override {
    if (waits_) return std::nullopt;
    return decision_;
  }
  Task<Result<Decision>> authorize(const Attributes&) override { co_return decision_; }

 private:
  Result<Decision> decision_;
  bool waits_;
};

Task<void> keep(UnionAuthorizer& all, const Attributes& wanted, std::string& outcome) {
  const Result<Decision> decision = co_await all.authorize(wanted);
  outcome = !decision ? "unknown" : decision->allowed ? "yes" : "no: " + decision->reason;
}

// The first permission wins; without one the last word counts; who cannot answer stops it.
TEST(UnionAuthorizer, FirstPermissionWins) {
  const Result<Decision> silent = fail(Code::unavailable, "down");
  Fixed yes(Decision::allow(), false), no(Decision::deny("roles"), false);
  Fixed late_yes(Decision::allow(), true), late_no(Decision::deny("host"), true);
  Fixed down(silent, true);
  const struct {
    std::vector<Authorizer*> members;
    const char* outcome;
    bool at_once;
  } cases[] = {
      {{&yes, &down}, "yes", true},         {{&no, &late_yes}, "yes", false},
      {{&no, &late_no}, "no: host", false}, {{&no, &no}, "no: roles", true},
      {{&no, &down}, "unknown", false},     {{&down, &yes}, "unknown", false},
  };
  runtime::ManualRuntime runtime;
  for (const auto& one : cases) {
    UnionAuthorizer all(one.members);
    const Attributes wanted;
    EXPECT_EQ(all.authorize_now(wanted).has_value(), one.at_once) << one.outcome;
    std::string outcome;
    runtime::Scope scope(runtime);
    scope.spawn(keep(all, wanted, outcome));
    runtime.settle();
    EXPECT_EQ(outcome, one.outcome);
  }
}

}  // namespace
}  // namespace fairlead::identity
