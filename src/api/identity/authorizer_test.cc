#include "api/identity/authorizer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/identity/test_support.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::identity {
namespace {

using namespace testing;

// A model of the server's knowledge: attachments by namespace/name, with node and network.
class World final : public NodeFacts {
 public:
  struct Attachment {
    std::string node;
    std::uint32_t vni = 0;
  };
  Placement placement(std::string_view node, std::string_view namespace_,
                      std::string_view attachment) const override {
    const auto found = attachments.find(key(namespace_, attachment));
    if (found == attachments.end()) return Placement::absent;
    return found->second.node == node ? Placement::here : Placement::elsewhere;
  }
  bool relevant(std::string_view node, std::uint32_t vni) const override {
    for (const auto& [name, attachment] : attachments)
      if (attachment.node == node && attachment.vni == vni) return true;
    return false;
  }
  std::uint32_t network_of(std::string_view namespace_,
                           std::string_view attachment) const override {
    const auto found = attachments.find(key(namespace_, attachment));
    return found == attachments.end() ? 0 : found->second.vni;
  }
  static std::string key(std::string_view namespace_, std::string_view name) {
    return std::string(namespace_) + "/" + std::string(name);
  }
  std::map<std::string, Attachment> attachments = {
      {"default/mine", {"n1", 5}},    {"default/neighbour", {"n2", 5}},
      {"default/foreign", {"n2", 6}}, {"default/unassigned", {"n2", 0}},
      {"default/pending", {"n1", 0}},
  };
};

struct Wish {
  const char* verb;
  const char* group;
  const char* resource;
  const char* subresource = "";
  const char* namespace_ = "";
  const char* name = "";
  std::vector<FieldTerm> selector = {};
};

Attributes attributes(const User& user, const Wish& wish) {
  Attributes wanted;
  wanted.user = &user;
  wanted.verb = wish.verb;
  wanted.group = wish.group;
  wanted.version = "v1";
  wanted.resource = wish.resource;
  wanted.subresource = wish.subresource;
  wanted.namespace_ = wish.namespace_;
  wanted.name = wish.name;
  wanted.field_selector = wish.selector;
  return wanted;
}

User member(std::string name, std::vector<std::string> groups) {
  groups.emplace_back(kAuthenticatedGroup);
  return {std::move(name), {}, std::move(groups), {}};
}

constexpr const char* kOurs = "fairlead.dev";

struct Expectation {
  Wish wish;
  bool allowed;
};

void expect_all(const User& user, const std::vector<Expectation>& expectations) {
  const World world;
  const RoleAuthorizer authorizer(&world);
  for (const auto& [wish, allowed] : expectations) {
    const Attributes wanted = attributes(user, wish);
    const Decision decision = authorizer.decide(wanted);
    EXPECT_EQ(decision.allowed, allowed) << forbidden_message(wanted, decision);
  }
}

// Admins may do everything, by either group.
TEST(RoleAuthorizer, admin) {
  for (const char* group : {"system:masters", "fairlead:admins"})
    expect_all(member("a", {group}), {{{"delete", "", "secrets"}, true},
                                      {{"impersonate", "", "users"}, true},
                                      {{"create", kOurs, "subnets"}, true}});
}

// Viewers read everything but secrets and write nothing.
TEST(RoleAuthorizer, viewer) {
  expect_all(member("v", {"fairlead:viewers"}),
             {{{"get", kOurs, "subnets", "", "default", "a"}, true},
              {{"list", "", "nodes"}, true},
              {{"watch", kOurs, "networkattachments"}, true},
              {{"get", kOurs, "networkattachments", "status", "default", "a"}, true},
              {{"get", "", "secrets", "", "default", "a"}, false},
              {{"list", "", "secrets"}, false},
              {{"create", kOurs, "subnets"}, false},
              {{"patch", kOurs, "networkattachments", "status", "default", "a"}, false},
              {{"delete", "", "configmaps", "", "default", "a"}, false},
              {{"impersonate", "", "users"}, false},
              {{"create", "authorization.k8s.io", "selfsubjectaccessreviews"}, true}});
}

// Controllers write Fairlead's own kinds, leases, events and the status of what they serve.
TEST(RoleAuthorizer, controller) {
  expect_all(member("c", {"fairlead:controllers"}),
             {{{"create", kOurs, "iplocks"}, true},
              {{"update", kOurs, "networkattachments", "status", "default", "a"}, true},
              {{"deletecollection", kOurs, "subnets"}, true},
              {{"list", "", "services"}, true},
              {{"patch", "", "services", "status", "default", "a"}, true},
              {{"patch", "", "services", "", "default", "a"}, false},
              {{"update", "coordination.k8s.io", "leases", "", "default", "a"}, true},
              {{"create", "", "events", "", "default"}, true},
              {{"get", "", "secrets", "", "default", "a"}, false},
              {{"delete", "", "namespaces", "", "", "default"}, false},
              {{"create", "", "nodes"}, false}});
}

// A node reads what concerns it and writes only what is its own; node n2's things are closed to n1.
TEST(RoleAuthorizer, node) {
  const FieldTerm own{"spec.node", "n1", true}, other{"spec.node", "n2", true};
  const FieldTerm not_own{"spec.node", "n1", false};
  const auto vni = [](const char* value) { return FieldTerm{"status.addressVNI", value, true}; };
  expect_all(
      node_user("n1"),
      {
          {{"list", kOurs, "subnets"}, true},
          {{"watch", kOurs, "iplocks"}, true},
          {{"create", kOurs, "iplocks", "", "default"}, false},
          {{"update", kOurs, "subnets", "status", "default", "a"}, false},

          {{"list", kOurs, "networkattachments"}, false},
          {{"watch", kOurs, "networkattachments", "", "", "", {own}}, true},
          {{"watch", kOurs, "networkattachments", "", "", "", {other}}, false},
          {{"watch", kOurs, "networkattachments", "", "", "", {not_own}}, false},
          {{"list", kOurs, "networkattachments", "", "default", "", {vni("5")}}, true},
          {{"watch", kOurs, "networkattachments", "", "default", "", {not_own, vni("5")}}, true},
          {{"watch", kOurs, "networkattachments", "", "default", "", {vni("6")}}, false},
          {{"watch", kOurs, "networkattachments", "", "default", "", {vni("05")}}, false},
          {{"watch", kOurs, "networkattachments", "", "default", "", {vni("0")}}, false},
          {{"watch", kOurs, "networkattachments", "", "default", "", {vni("5x")}}, false},
          {{"watch", kOurs, "networkattachments", "", "default", "", {vni("")}}, false},
          {{"watch", kOurs, "networkattachments", "", "", "", {{"status.addressVNI", "5", false}}},
           false},

          {{"get", kOurs, "networkattachments", "", "default", "mine"}, true},
          {{"get", kOurs, "networkattachments", "", "default", "pending"}, true},
          {{"get", kOurs, "networkattachments", "", "default", "neighbour"}, true},
          {{"get", kOurs, "networkattachments", "", "default", "foreign"}, false},
          {{"get", kOurs, "networkattachments", "", "default", "unassigned"}, false},
          {{"get", kOurs, "networkattachments", "", "default", "absent"}, true},
          {{"watch", kOurs, "networkattachments", "", "default", "mine"}, true},
          {{"watch", kOurs, "networkattachments", "", "default", "absent"}, true},
          {{"watch", kOurs, "networkattachments", "", "default", "neighbour"}, false},
          // A name selected from all namespaces is not one object.
          {{"list", kOurs, "networkattachments", "", "", "mine"}, false},
          {{"list", kOurs, "networkattachments", "", "", "absent"}, false},
          {{"list", kOurs, "networkattachments", "", "", "absent", {own}}, true},

          {{"update", kOurs, "networkattachments", "status", "default", "mine"}, true},
          {{"patch", kOurs, "networkattachments", "status", "default", "neighbour"}, false},
          {{"patch", kOurs, "networkattachments", "status", "default", "foreign"}, false},
          {{"patch", kOurs, "networkattachments", "", "default", "mine"}, false},
          {{"delete", kOurs, "networkattachments", "", "default", "mine"}, false},
          {{"create", kOurs, "networkattachments", "", "default"}, false},

          {{"create", kOurs, "nodereports"}, true},  // its name is looked at by admit_write()
          {{"get", kOurs, "nodereports", "", "", "n1"}, true},
          {{"patch", kOurs, "nodereports", "", "", "n1"}, true},
          {{"patch", kOurs, "nodereports", "", "", "n2"}, false},
          {{"get", kOurs, "nodereports", "", "", "n2"}, false},
          {{"list", kOurs, "nodereports"}, false},
          {{"delete", kOurs, "nodereports", "", "", "n1"}, false},

          {{"get", "", "nodes", "", "", "n1"}, true},
          {{"get", "", "nodes", "", "", "n2"}, false},
          {{"list", "", "nodes"}, false},
          {{"watch", "", "nodes", "", "", "n1"}, true},
          {{"patch", "", "nodes", "status", "", "n1"}, true},
          {{"patch", "", "nodes", "status", "", "n2"}, false},
          {{"update", "", "nodes", "", "", "n1"}, false},
          {{"delete", "", "nodes", "", "", "n1"}, false},

          {{"get", "coordination.k8s.io", "leases", "", "fairlead-node-lease", "n1"}, true},
          {{"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n1"}, true},
          {{"create", "coordination.k8s.io", "leases", "", "fairlead-node-lease"}, true},
          {{"create", "coordination.k8s.io", "leases", "", "fairlead-node-lease", "n2"}, false},
          {{"update", "coordination.k8s.io", "leases", "", "fairlead-node-lease", "n2"}, false},
          {{"update", "coordination.k8s.io", "leases", "", "default", "n1"}, false},
          {{"list", "coordination.k8s.io", "leases", "", "fairlead-node-lease"}, false},

          {{"create", "", "events", "", "default"}, false},
          {{"patch", "", "events", "", "default", "e"}, false},
          {{"create", "events.k8s.io", "events", "", "default"}, false},
          {{"list", "", "events"}, false},
          {{"delete", "", "events", "", "default", "e"}, false},
          {{"get", "", "secrets", "", "default", "s"}, false},
          {{"list", "", "configmaps"}, false},
          {{"impersonate", "", "users", "", "", "admin"}, false},
      });
}

// Being in the nodes' group without a node's name, or the reverse, gives nothing.
TEST(RoleAuthorizer, half_a_node_is_none) {
  for (const User& user : {member("jane", {"system:nodes"}), member("system:node:n1", {}),
                           member("system:node:", {"system:nodes"})})
    expect_all(user,
               {{{"list", kOurs, "subnets"}, false}, {{"get", "", "nodes", "", "", "n1"}, false}});
}

// Without a server's knowledge a node sees no attachments.
TEST(RoleAuthorizer, node_without_facts) {
  const RoleAuthorizer authorizer(nullptr);
  const User node = node_user("n1");
  const Wish wish{"watch", kOurs, "networkattachments", "", "", "", {{"spec.node", "n1", true}}};
  EXPECT_FALSE(authorizer.decide(attributes(node, wish)).allowed);
}

// Paths: health and version for everyone, discovery for anyone known, metrics for observers.
TEST(RoleAuthorizer, paths) {
  const RoleAuthorizer authorizer(nullptr);
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
  const std::vector<Expectation> nothing = {{{"list", kOurs, "subnets"}, false},
                                            {{"get", "", "namespaces", "", "", "default"}, false},
                                            {{"create", kOurs, "subnets"}, false}};
  expect_all(*anonymous_user(), nothing);
  expect_all(member("jane", {"dev"}), nothing);
}

Json attachment_on(std::string_view node) {
  return JsonObject{{"metadata", JsonObject{{"name", "a"}}}, {"spec", JsonObject{{"node", node}}}};
}

// Nobody could delete what a node has bound by a finalizer or by an owner that it must not name.
TEST(AdmitWrite, node_binds_only_to_its_own_node) {
  const World world;
  const User node = node_user("n1");
  const auto report = [](JsonObject more) {
    more["name"] = "n1";
    return Json(JsonObject{{"metadata", std::move(more)}});
  };
  const auto owner = [](const char* name, bool blocks) {
    return JsonArray{JsonObject{
        {"apiVersion", "v1"}, {"kind", "Node"}, {"name", name}, {"blockOwnerDeletion", blocks}}};
  };
  const Json plain = report({}), final = report({{"finalizers", JsonArray{"mine/x"}}}),
             owned = report({{"ownerReferences", owner("n1", false)}}),
             blocking = report({{"ownerReferences", owner("n1", true)}}),
             other = report({{"ownerReferences", owner("n2", false)}});
  for (const Wish& wish :
       {Wish{"update", kOurs, "nodereports", "", "", "n1"},
        Wish{"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n1"}}) {
    const auto allowed = [&](const Json* current, const Json* desired) {
      return admit_write(attributes(node, wish), current, desired).allowed;
    };
    EXPECT_TRUE(allowed(&plain, &plain));
    EXPECT_TRUE(allowed(&plain, &owned));
    EXPECT_FALSE(allowed(&plain, &final));
    EXPECT_FALSE(allowed(nullptr, &final));
    EXPECT_TRUE(allowed(&final, &final)) << "somebody else's stays";
    EXPECT_FALSE(allowed(&plain, &blocking));
    EXPECT_FALSE(allowed(&plain, &other));
  }
}

// The second look refuses what the names in the request did not show.
TEST(AdmitWrite, node_writes_only_its_own_objects) {
  const World world;
  const User node = node_user("n1"), controller = member("c", {"fairlead:controllers"});
  const Json mine = attachment_on("n1"), theirs = attachment_on("n2");
  const Wish status{"update", kOurs, "networkattachments", "status", "default", "a"};
  EXPECT_TRUE(admit_write(attributes(node, status), &mine, &mine).allowed);
  EXPECT_FALSE(admit_write(attributes(node, status), &theirs, &theirs).allowed);
  EXPECT_FALSE(admit_write(attributes(node, status), &mine, &theirs).allowed);
  EXPECT_FALSE(admit_write(attributes(node, status), &theirs, &mine).allowed);
  EXPECT_FALSE(admit_write(attributes(node, status), nullptr, &mine).allowed);
  EXPECT_TRUE(admit_write(attributes(controller, status), &theirs, &theirs).allowed);

  const Wish lease{"create", "coordination.k8s.io", "leases", "", "fairlead-node-lease"};
  const Json own_lease = JsonObject{{"metadata", JsonObject{{"name", "n1"}}}};
  const Json other_lease = JsonObject{{"metadata", JsonObject{{"name", "n2"}}}};
  EXPECT_TRUE(admit_write(attributes(node, lease), nullptr, &own_lease).allowed);
  EXPECT_FALSE(admit_write(attributes(node, lease), nullptr, &other_lease).allowed);

  const Wish report{"create", kOurs, "nodereports"};
  EXPECT_TRUE(admit_write(attributes(node, report), nullptr, &own_lease).allowed);
  EXPECT_FALSE(admit_write(attributes(node, report), nullptr, &other_lease).allowed);

  // The server tells what became of what, also of what nodes did.
  const Json event = JsonObject{
      {"source", JsonObject{{"host", "n1"}}},
      {"involvedObject", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n1"}}}};
  const Wish tell{"create", "", "events", "", "default", "e"};
  EXPECT_FALSE(admit_write(attributes(node, tell), nullptr, &event).allowed);
  EXPECT_TRUE(admit_write(attributes(controller, tell), nullptr, &event).allowed);

  EXPECT_FALSE(admit_write(attributes(node, {"update", "", "configmaps"}), &mine, &mine).allowed);
}

// Denials read as Kubernetes words them.
TEST(Forbidden, message) {
  const User jane = member("jane", {});
  EXPECT_EQ(forbidden_message(attributes(jane, {"get", kOurs, "subnets", "status", "default", "a"}),
                              Decision::deny("why")),
            "subnets.fairlead.dev \"a\" is forbidden: User \"jane\" cannot get resource "
            "\"subnets/status\" in API group \"fairlead.dev\" in the namespace \"default\": why");
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
  const RoleAuthorizer authorizer(nullptr);
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
  const RuleList node = authorizer.rules_for(node_user("n1"), "default");
  EXPECT_TRUE(node.incomplete);
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
