#include "api/identity/authorizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/identity/test_support.h"
#include "api/resource/test_kinds.h"
#include "foundation/base/check.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::identity {
namespace {

using namespace testing;

// A model of the server's knowledge: moorings by namespace/name, with node and channel.
class World final : public NodeFacts {
 public:
  struct Mooring {
    std::string node;
    std::uint32_t channel = 0;
  };
  Placement placement(const resource::Kind& kind, std::string_view node,
                      std::string_view namespace_, std::string_view name) const override {
    EXPECT_EQ(kind.plural, "moorings");
    const auto found = moorings.find(key(namespace_, name));
    if (found == moorings.end()) return Placement::absent;
    return found->second.node == node ? Placement::here : Placement::elsewhere;
  }
  bool shares(const resource::Kind&, std::string_view node, std::uint32_t value) const override {
    for (const auto& [name, mooring] : moorings)
      if (mooring.node == node && mooring.channel == value) return true;
    return false;
  }
  std::uint32_t shared_value_of(const resource::Kind&, std::string_view namespace_,
                                std::string_view name) const override {
    const auto found = moorings.find(key(namespace_, name));
    return found == moorings.end() ? 0 : found->second.channel;
  }
  static std::string key(std::string_view namespace_, std::string_view name) {
    return std::string(namespace_) + "/" + std::string(name);
  }
  std::map<std::string, Mooring> moorings = {
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
  const RoleAuthorizer authorizer(resource::test_catalog(), &world);
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

// A node reads what concerns it and writes only what is its own; node n2's things are closed to n1.
TEST(RoleAuthorizer, node) {
  const FieldTerm own{"spec.node", "n1", true}, other{"spec.node", "n2", true};
  const FieldTerm not_own{"spec.node", "n1", false};
  const auto channel = [](const char* value) { return FieldTerm{"status.channel", value, true}; };
  expect_all(
      node_user("n1"),
      {
          {{"list", kOurs, "parcels"}, true},
          {{"watch", kOurs, "parcels"}, true},
          {{"create", kOurs, "parcels", "", "default"}, false},
          {{"update", kOurs, "parcels", "status", "default", "a"}, false},

          {{"list", kOurs, "moorings"}, false},
          {{"watch", kOurs, "moorings", "", "", "", {own}}, true},
          {{"watch", kOurs, "moorings", "", "", "", {other}}, false},
          {{"watch", kOurs, "moorings", "", "", "", {not_own}}, false},
          {{"list", kOurs, "moorings", "", "default", "", {channel("5")}}, true},
          {{"watch", kOurs, "moorings", "", "default", "", {not_own, channel("5")}}, true},
          {{"watch", kOurs, "moorings", "", "default", "", {channel("6")}}, false},
          {{"watch", kOurs, "moorings", "", "default", "", {channel("05")}}, false},
          {{"watch", kOurs, "moorings", "", "default", "", {channel("0")}}, false},
          {{"watch", kOurs, "moorings", "", "default", "", {channel("5x")}}, false},
          {{"watch", kOurs, "moorings", "", "default", "", {channel("")}}, false},
          {{"watch", kOurs, "moorings", "", "", "", {{"status.channel", "5", false}}}, false},

          {{"get", kOurs, "moorings", "", "default", "mine"}, true},
          {{"get", kOurs, "moorings", "", "default", "pending"}, true},
          {{"get", kOurs, "moorings", "", "default", "neighbour"}, true},
          {{"get", kOurs, "moorings", "", "default", "foreign"}, false},
          {{"get", kOurs, "moorings", "", "default", "unassigned"}, false},
          {{"get", kOurs, "moorings", "", "default", "absent"}, true},
          {{"watch", kOurs, "moorings", "", "default", "mine"}, true},
          {{"watch", kOurs, "moorings", "", "default", "absent"}, true},
          {{"watch", kOurs, "moorings", "", "default", "neighbour"}, false},
          // A name selected from all namespaces is not one object.
          {{"list", kOurs, "moorings", "", "", "mine"}, false},
          {{"list", kOurs, "moorings", "", "", "absent"}, false},
          {{"list", kOurs, "moorings", "", "", "absent", {own}}, true},

          {{"update", kOurs, "moorings", "status", "default", "mine"}, true},
          {{"patch", kOurs, "moorings", "status", "default", "neighbour"}, false},
          {{"patch", kOurs, "moorings", "status", "default", "foreign"}, false},
          {{"patch", kOurs, "moorings", "", "default", "mine"}, false},
          {{"delete", kOurs, "moorings", "", "default", "mine"}, false},
          {{"create", kOurs, "moorings", "", "default"}, false},

          {{"create", kOurs, "logbooks"}, true},  // its name is looked at by admit_write()
          {{"get", kOurs, "logbooks", "", "", "n1"}, true},
          {{"patch", kOurs, "logbooks", "", "", "n1"}, true},
          {{"patch", kOurs, "logbooks", "", "", "n2"}, false},
          {{"get", kOurs, "logbooks", "", "", "n2"}, false},
          {{"list", kOurs, "logbooks"}, false},
          {{"delete", kOurs, "logbooks", "", "", "n1"}, false},

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
               {{{"list", kOurs, "parcels"}, false}, {{"get", "", "nodes", "", "", "n1"}, false}});
}

// Without a server's knowledge a node sees no moorings.
TEST(RoleAuthorizer, node_without_facts) {
  const RoleAuthorizer authorizer(resource::test_catalog(), nullptr);
  const User node = node_user("n1");
  const Wish wish{"watch", kOurs, "moorings", "", "", "", {{"spec.node", "n1", true}}};
  EXPECT_FALSE(authorizer.decide(attributes(node, wish)).allowed);
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

// The kind is that of the wish.
Decision admit(const User& user, const Wish& wish, const Json* current, const Json* desired) {
  const auto& kinds = resource::test_catalog().kinds();
  const auto kind = std::ranges::find_if(kinds, [&](const auto& one) {
    return one->group == wish.group && one->plural == wish.resource;
  });
  CHECK(kind != kinds.end());
  return admit_write(**kind, attributes(user, wish), current, desired);
}

Json mooring_on(std::string_view node) {
  return JsonObject{{"metadata", JsonObject{{"name", "a"}}}, {"spec", JsonObject{{"node", node}}}};
}

// A kind may also let nodes make, list and remove what is on them, and share nothing.
TEST(RoleAuthorizer, objects_of_a_node_that_are_not_shared) {
  resource::Kind kind = resource::mooring_kind();
  kind.node.shared_field.clear();
  kind.node.rights = {{.own = resource::kRead | resource::kWrite}};
  const resource::Catalog catalog({std::move(kind)});
  const World world;
  const RoleAuthorizer authorizer(catalog, &world);
  const User node = node_user("n1");
  const std::vector<FieldTerm> own{{"spec.node", "n1", true}}, other{{"spec.node", "n2", true}};
  const struct {
    Wish wish;
    const char* reason;
  } cases[] = {
      {{"list", kOurs, "moorings", "", "", "", own}, ""},
      {{"watch", kOurs, "moorings", "", "default", "", own}, ""},
      {{"deletecollection", kOurs, "moorings", "", "default", "", own}, ""},
      {{"list", kOurs, "moorings"}, "a node must select its own moorings (spec.node)"},
      {{"list", kOurs, "moorings", "", "", "", other},
       "a node must select its own moorings (spec.node)"},
      {{"deletecollection", kOurs, "moorings", "", "default"},
       "a node must select its own moorings (spec.node)"},
      {{"get", kOurs, "moorings", "", "default", "mine"}, ""},
      {{"get", kOurs, "moorings", "", "default", "neighbour"}, "the mooring is on another node"},
      {{"watch", kOurs, "moorings", "", "default", "neighbour"}, "the mooring is on another node"},
      {{"delete", kOurs, "moorings", "", "default", "foreign"}, "the mooring is on another node"},
      {{"create", kOurs, "moorings", "", "default"}, ""},
  };
  for (const auto& [wish, reason] : cases) {
    const Decision decision = authorizer.decide(attributes(node, wish));
    EXPECT_EQ(decision.reason, reason) << wish.verb << " " << wish.name;
    EXPECT_EQ(decision.allowed, decision.reason.empty()) << wish.verb << " " << wish.name;
  }
  const resource::Kind& moorings = *catalog.kinds().front();
  const Json mine = mooring_on("n1"), theirs = mooring_on("n2");
  const Attributes write = attributes(node, {"create", kOurs, "moorings"});
  EXPECT_TRUE(admit_write(moorings, write, nullptr, &mine).allowed);
  EXPECT_FALSE(admit_write(moorings, write, nullptr, &theirs).allowed);
  EXPECT_TRUE(admit_write(moorings, write, &mine, nullptr).allowed);
  EXPECT_FALSE(admit_write(moorings, write, &theirs, nullptr).allowed);
  EXPECT_FALSE(admit_write(moorings, write, &mine, &theirs).allowed);
  Json held = mine;
  held.at("metadata").get_object()["finalizers"] = JsonArray{"mine/x"};
  EXPECT_FALSE(admit_write(moorings, write, nullptr, &held).allowed);
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
       {Wish{"update", kOurs, "logbooks", "", "", "n1"},
        Wish{"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n1"}}) {
    const auto allowed = [&](const Json* current, const Json* desired) {
      return admit(node, wish, current, desired).allowed;
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
  const Json mine = mooring_on("n1"), theirs = mooring_on("n2");
  const Wish status{"update", kOurs, "moorings", "status", "default", "a"};
  EXPECT_TRUE(admit(node, status, &mine, &mine).allowed);
  EXPECT_FALSE(admit(node, status, &theirs, &theirs).allowed);
  EXPECT_FALSE(admit(node, status, &mine, &theirs).allowed);
  EXPECT_FALSE(admit(node, status, &theirs, &mine).allowed);
  EXPECT_FALSE(admit(node, status, nullptr, &mine).allowed);
  EXPECT_TRUE(admit(controller, status, &theirs, &theirs).allowed);

  const Wish lease{"create", "coordination.k8s.io", "leases", "", "fairlead-node-lease"};
  const Json own_lease = JsonObject{{"metadata", JsonObject{{"name", "n1"}}}};
  const Json other_lease = JsonObject{{"metadata", JsonObject{{"name", "n2"}}}};
  EXPECT_TRUE(admit(node, lease, nullptr, &own_lease).allowed);
  EXPECT_FALSE(admit(node, lease, nullptr, &other_lease).allowed);

  const Wish report{"create", kOurs, "logbooks"};
  EXPECT_TRUE(admit(node, report, nullptr, &own_lease).allowed);
  EXPECT_FALSE(admit(node, report, nullptr, &other_lease).allowed);

  // The server tells what became of what, also of what nodes did.
  const Json event = JsonObject{
      {"source", JsonObject{{"host", "n1"}}},
      {"involvedObject", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n1"}}}};
  const Wish tell{"create", "", "events", "", "default", "e"};
  EXPECT_FALSE(admit(node, tell, nullptr, &event).allowed);
  EXPECT_TRUE(admit(controller, tell, nullptr, &event).allowed);

  EXPECT_FALSE(admit(node, {"update", "", "configmaps"}, &mine, &mine).allowed);
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
