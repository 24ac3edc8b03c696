// What an agent carries, reads and tells while nothing goes wrong.
#include "features/networks/node/node_world_test.h"
#include "node/fabric/names.h"

namespace fairlead::networks {
namespace {

class AgentTest : public AgentWorld {
 protected:
  Task<void> reach_one_another();
  Task<void> rivals();
  Task<void> newest_lists();
  Task<void> reports();
  Task<void> out_of_reach();
};

// Two attachments of a network reach one another's nodes, and nobody else's; the deletion of one is
// carried out and acknowledged.
Task<void> AgentTest::reach_one_another() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::string b = co_await attach("b", "n2", 5, 2);
  const std::string c = co_await attach("c", "n2", 6, 2);
  Task<bool> wait1 = until([&] { return has(one_, a) && has(one_, b); });
  EXPECT_TRUE(co_await wait1);
  Task<bool> wait2 = until([&] { return has(two_, a) && has(two_, b) && has(two_, c); });
  EXPECT_TRUE(co_await wait2);
  EXPECT_FALSE(has(one_, c));
  EXPECT_EQ(one_.fabric.carried().at(b).host.to_string(), "192.0.2.2");
  EXPECT_EQ(one_.fabric.carried().at(a).interface, fabric::guest_interface_name(a));
  const std::function<bool(const Json&)> implemented = [&](const Json& object) {
    return wire::find_string(object, "status.ifcName") == fabric::guest_interface_name(a) &&
           wire::find_string(object, "status.hostIP") == "192.0.2.1";
  };
  EXPECT_TRUE(co_await until_object("a", implemented));

  // Nothing more is written while nothing changes, audits or not.
  const Json before = co_await get("a");
  const int audits = one_.fabric.audits;
  Task<bool> wait3 = until([&] { return one_.fabric.audits > audits + 5; });
  EXPECT_TRUE(co_await wait3);
  const Json after = co_await get("a");
  EXPECT_EQ(wire::find_string(before, "metadata.resourceVersion"),
            wire::find_string(after, "metadata.resourceVersion"));

  const std::uint64_t version = co_await remove("b");
  Task<bool> wait4 = until([&] { return !has(one_, b) && !has(two_, b) && !has(two_, a); });
  EXPECT_TRUE(co_await wait4);
  EXPECT_TRUE(co_await until_applied("n1", 5, version));
  EXPECT_TRUE(co_await until_applied("n2", 5, version));
}
TEST_F(AgentTest, AttachmentsReachTheNodesTheyConcern) { run(reach_one_another()); }

// Of two that claim one address none is carried, and both say so, until one is gone.
Task<void> AgentTest::rivals() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  Task<bool> wait6 = until([&] { return has(one_, a); });
  EXPECT_TRUE(co_await wait6);
  const std::string b = co_await attach("b", "n1", 5, 1);
  const std::function<bool(const Json&)> in_conflict = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors && errors->as_array().size() == 2 &&
           wire::find_string(object, "status.ifcName").empty();
  };
  EXPECT_TRUE(co_await until_object("a", in_conflict));
  EXPECT_TRUE(co_await until_object("b", in_conflict));
  EXPECT_TRUE(one_.fabric.carried().empty());
  co_await remove("b");
  const std::function<bool(const Json&)> fine = [](const Json& object) {
    return !wire::find(object, "status.errors.host") &&
           !wire::find_string(object, "status.ifcName").empty();
  };
  EXPECT_TRUE(co_await until_object("a", fine));
  EXPECT_TRUE(has(one_, a));
}
TEST_F(AgentTest, RivalsAreToldAndNotCarried) { run(rivals()); }

// No list comes from a server's cache, which may be behind what this node has said it dropped.
Task<void> AgentTest::newest_lists() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  Task<bool> carried = until([&] { return has(one_, a); });
  EXPECT_TRUE(co_await carried);
  std::size_t lists = 0;
  for (const std::string& target : api_.targets()) {
    const bool list = target.find("networkattachments?") != std::string::npos &&
                      target.find("watch=") == std::string::npos;
    lists += list;
    EXPECT_FALSE(list && target.find("resourceVersion=0") != std::string::npos) << target;
  }
  EXPECT_GE(lists, 3U);  // each node's own, and the network that one of them is in
}
TEST_F(AgentTest, ListsTheNewest) { run(newest_lists()); }

// A node's report belongs to its Node and is made again when somebody deleted it.
Task<void> AgentTest::reports() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  Task<bool> carried = until([&] { return has(one_, a); });
  EXPECT_TRUE(co_await carried);
  const Result<Json> node = co_await admin_->get(kNodes, "", "n1");
  const Result<Json> report = co_await admin_->get(kReports, "", "n1");
  CHECK(node && report);
  const Json& owner = wire::find(*report, "metadata.ownerReferences")->get_array().front();
  EXPECT_EQ(wire::find_string(owner, "uid"), wire::find_string(*node, "metadata.uid"));
  const Result<> deleted = co_await admin_->remove(kReports, "", "n1");
  EXPECT_TRUE(deleted);
  const std::uint64_t version = co_await remove("a");
  EXPECT_TRUE(co_await until_applied_own("n1", version));
}
TEST_F(AgentTest, Reports) { run(reports()); }

// A node that says it is at an address of the other family is cut off from this one, and nothing
// else is: what was carried of it goes, and nobody waits for this node because of it.
Task<void> AgentTest::out_of_reach() {
  const auto move_to = [this](std::string host) -> Task<std::uint64_t> {
    Json patch = JsonObject{{"status", JsonObject{{"hostIP", host}}}};
    const Result<Json> moved = co_await admin_->patch(
        kAttachments, "default", "b", client::PatchKind::merge, std::move(patch), "status");
    CHECK(moved.has_value());
    co_return parse_version(wire::find_string(*moved, "metadata.resourceVersion"));
  };
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::string b = co_await attach("b", "n3", 5, 2);
  const std::string c = co_await attach("c", "n2", 5, 3);
  (void)co_await move_to("192.0.2.3");
  Task<bool> all = until([&] { return has(one_, a) && has(one_, b) && has(one_, c); });
  EXPECT_TRUE(co_await all);
  EXPECT_TRUE(one_.agent->unreachable().empty());
  const std::uint64_t moved = co_await move_to("2001:db8::3");
  Task<bool> dropped = until([&] { return !has(one_, b); });
  EXPECT_TRUE(co_await dropped);
  EXPECT_TRUE(co_await until_applied("n1", 5, moved - 1));
  EXPECT_EQ(one_.agent->unreachable(),
            std::vector<std::string>{"default/b on node n3: its host 2001:db8::3 is of another "
                                     "address family than this one, 192.0.2.1"});
  EXPECT_TRUE(has(one_, a) && has(one_, c));
  (void)co_await move_to("192.0.2.3");
  Task<bool> back = until([&] { return has(one_, b); });
  EXPECT_TRUE(co_await back);
  EXPECT_TRUE(one_.agent->unreachable().empty());
}
TEST_F(AgentTest, AHostOfTheOtherFamilyIsOutOfReach) { run(out_of_reach()); }

}  // namespace
}  // namespace fairlead::networks
