// What nodes may do with the objects of virtual networks: read what concerns them and write only
// what is their own.
#include <gtest/gtest.h>

#include "api/identity/authorizer.h"
#include "api/identity/test_wishes.h"
#include "features/networks/kinds/test_catalog.h"

namespace fairlead::networks {
namespace {

using namespace identity;
using namespace identity::testing;

constexpr const char* kOurs = "fairlead.dev";

const resource::Kind& kind_of(const char* plural) {
  return *test_catalog().find(kOurs, "v1alpha1", plural);
}

// Node n2's things are closed to n1.
TEST(NodeRights, OfVirtualNetworks) {
  const FieldTerm own{"spec.node", "n1", true}, other{"spec.node", "n2", true};
  const FieldTerm not_own{"spec.node", "n1", false};
  const auto vni = [](const char* value) { return FieldTerm{"status.addressVNI", value, true}; };
  const std::vector<Expectation> expectations = {
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
  };
  expect_all(test_catalog(), World("networkattachments"), node_user("n1"), expectations);
}

// Refusals say what a node should have asked for.
TEST(NodeRights, RefusalsSayWhy) {
  const World world("networkattachments");
  const RoleAuthorizer authorizer(test_catalog(), &world);
  const User node = node_user("n1");
  const auto why = [&](const Wish& wish) {
    return authorizer.decide(attributes(node, wish)).reason;
  };
  const FieldTerm six{"status.addressVNI", "6", true};
  EXPECT_EQ(why({"list", kOurs, "networkattachments"}),
            "a node must select its own attachments (spec.node) or a virtual network "
            "(status.addressVNI)");
  EXPECT_EQ(why({"watch", kOurs, "networkattachments", "", "", "", {six}}),
            "virtual network 6 is not relevant to this node");
  EXPECT_EQ(why({"get", kOurs, "networkattachments", "", "default", "foreign"}),
            "the attachment is not relevant to this node");
  EXPECT_EQ(why({"patch", kOurs, "networkattachments", "status", "default", "foreign"}),
            "the attachment is on another node");
  EXPECT_EQ(why({"get", kOurs, "nodereports", "", "", "n2"}),
            "a node may use only the object of its own name");
}

Json attachment_on(std::string_view node) {
  return JsonObject{{"metadata", JsonObject{{"name", "a"}}}, {"spec", JsonObject{{"node", node}}}};
}
Json named(std::string_view name) { return JsonObject{{"metadata", JsonObject{{"name", name}}}}; }

// The second look, at the objects: a node writes neither another node's attachment nor makes one,
// removes one or moves one; it makes no report but its own.
TEST(NodeRights, WritesAreItsOwn) {
  const User node = node_user("n1");
  const Json mine = attachment_on("n1"), theirs = attachment_on("n2");
  const auto reason = [&](const char* plural, const Json* current, const Json* desired) {
    const Wish wish{"update", kOurs, plural, "", "default", "a"};
    const Decision decision =
        admit_write(kind_of(plural), attributes(node, wish), current, desired);
    return decision.allowed ? "allowed" : decision.reason;
  };
  const std::string elsewhere = "the attachment is on another node";
  EXPECT_EQ(reason("networkattachments", &mine, &mine), "allowed");
  EXPECT_EQ(reason("networkattachments", &theirs, &theirs), elsewhere);
  EXPECT_EQ(reason("networkattachments", &mine, &theirs), elsewhere);
  EXPECT_EQ(reason("networkattachments", &theirs, &mine), elsewhere);
  EXPECT_EQ(reason("networkattachments", nullptr, &mine), elsewhere);
  EXPECT_EQ(reason("networkattachments", &mine, nullptr), elsewhere);
  const Json own = named("n1"), other = named("n2");
  EXPECT_EQ(reason("nodereports", nullptr, &own), "allowed");
  EXPECT_EQ(reason("nodereports", nullptr, &other), "a node may write only what has its own name");
  for (const char* closed : {"subnets", "iplocks"})
    EXPECT_EQ(reason(closed, &mine, &mine), "a node may not write this");
}

// How much a node writes: attachments have a pace of their own, and are told often.
TEST(NodeRights, Limits) {
  const resource::NodeAccess& attachments = kind_of("networkattachments").node;
  ASSERT_TRUE(attachments.pace);
  EXPECT_EQ(attachments.pace->burst, 32 << 20);
  EXPECT_EQ(attachments.pace->per_second, 1 << 20);
  EXPECT_EQ(attachments.most_bytes, 64u << 10);
  const resource::NodeAccess& reports = kind_of("nodereports").node;
  EXPECT_FALSE(reports.pace);
  EXPECT_EQ(reports.most_bytes, 96u << 10);
  EXPECT_TRUE(attachments.written_often && reports.written_often);
}

}  // namespace
}  // namespace fairlead::networks
