#include "api/identity/node_role.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/identity/test_support.h"
#include "api/identity/test_wishes.h"
#include "api/resource/test_kinds.h"
#include "foundation/base/check.h"

namespace fairlead::identity {
namespace {

using namespace testing;

constexpr const char* kOurs = "fairlead.dev";

void expect_all(const User& user, const std::vector<Expectation>& expectations) {
  testing::expect_all(resource::test_catalog(), World("moorings"), user, expectations);
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
  const World world("moorings");
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

// Objects that list their nodes: each of those tells their status, all do where there is no list.
TEST(RoleAuthorizer, objects_that_list_their_nodes) {
  resource::Kind kind = resource::mooring_kind();
  kind.namespaced = false;
  kind.node = {};
  kind.node.own = resource::NodeAccess::Own::listed;
  kind.node.nodes_field = "spec.nodes";
  kind.node.noun = "mooring";
  kind.node.rights = {{.every = resource::kRead},
                      {.subresource = "status", .own = resource::kGet | resource::kModify}};
  const resource::Catalog catalog({std::move(kind)});
  testing::expect_all(catalog, World("moorings"), node_user("n1"),
                      {
                          {{"list", kOurs, "moorings"}, true},
                          {{"watch", kOurs, "moorings"}, true},
                          {{"patch", kOurs, "moorings", "status", "", "a"}, true},
                          {{"patch", kOurs, "moorings", "status", "", ""}, false},
                          {{"patch", kOurs, "moorings", "", "", "a"}, false},
                          {{"create", kOurs, "moorings"}, false},
                          {{"delete", kOurs, "moorings", "", "", "a"}, false},
                      });
  const resource::Kind& moorings = *catalog.kinds().front();
  const auto of = [](JsonArray nodes) {
    return Json(JsonObject{{"metadata", JsonObject{{"name", "a"}}},
                           {"spec", JsonObject{{"nodes", std::move(nodes)}}}});
  };
  const Json every = of({}), mine = of({"n2", "n1"}), theirs = of({"n2"});
  const User node = node_user("n1");
  const Attributes write = attributes(node, {"patch", kOurs, "moorings", "status", "", "a"});
  EXPECT_TRUE(admit_write(moorings, write, &every, &every).allowed);
  EXPECT_TRUE(admit_write(moorings, write, &mine, &mine).allowed);
  EXPECT_EQ(admit_write(moorings, write, &theirs, &theirs).reason,
            "the mooring is not this node's");
  EXPECT_FALSE(admit_write(moorings, write, &theirs, &mine).allowed);
  EXPECT_FALSE(admit_write(moorings, write, nullptr, &mine).allowed);
  EXPECT_FALSE(admit_write(moorings, write, &mine, nullptr).allowed);
}

// Nobody could delete what a node has bound by a finalizer or by an owner that it must not name.
TEST(AdmitWrite, node_binds_only_to_its_own_node) {
  const World world("moorings");
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
  const World world("moorings");
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

}  // namespace
}  // namespace fairlead::identity
