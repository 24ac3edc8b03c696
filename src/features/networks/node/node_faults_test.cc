// An agent whose fabric fails, that is restarted, or whose API server is away.
#include "features/networks/node/node_world_test.h"

namespace fairlead::networks {
namespace {

class AgentFaults : public AgentWorld {
 protected:
  Task<void> failing_fabric();
  Task<void> restart_adopts();
  Task<void> silent_api();
  Task<void> own_reports_wait();
};

// What the fabric says is in the status, and it is tried again until it works.
Task<void> AgentFaults::failing_fabric() {
  one_.fabric.failing = true;
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::function<bool(const Json&)> failed = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors && errors->at(0) == "no room in the switch" &&
           wire::find_string(object, "status.hostIP").empty();
  };
  EXPECT_TRUE(co_await until_object("a", failed));
  one_.fabric.failing = false;
  const std::function<bool(const Json&)> fine = [](const Json& object) {
    return !wire::find(object, "status.errors.host") &&
           wire::find_string(object, "status.hostIP") == "192.0.2.1";
  };
  EXPECT_TRUE(co_await until_object("a", fine));
}
TEST_F(AgentFaults, FailuresOfTheFabricAreToldAndRetried) { run(failing_fabric()); }

// A new agent adopts what is there, without running hooks again, and removes what was deleted
// meanwhile, and says so in the report.
Task<void> AgentFaults::restart_adopts() {
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  const std::string a = co_await attach("a", "n1", 5, 1, hook);
  const std::string gone = co_await attach("gone", "n1", 6, 1, hook);
  const std::string peer = co_await attach("peer", "n2", 6, 2);
  Task<bool> wait7 = until([&] {
    return has(one_, a) && has(one_, gone) && has(one_, peer) &&
           one_.processes.commands.size() == 2;
  });
  EXPECT_TRUE(co_await wait7);
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    return wire::find(object, "status.postCreateExecReport") != nullptr;
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  EXPECT_TRUE(co_await until_applied("n1", 6, 0));
  co_await one_.stop();
  EXPECT_TRUE(has(one_, a) && has(one_, gone) && has(one_, peer));
  const std::uint64_t version = co_await remove("gone");
  const Json before = co_await get("a");
  one_.start();
  Task<bool> wait8 = until([&] { return !has(one_, gone) && !has(one_, peer); });
  EXPECT_TRUE(co_await wait8);
  EXPECT_TRUE(has(one_, a));
  EXPECT_TRUE(co_await until_applied("n1", 6, version));
  EXPECT_EQ(one_.processes.commands.size(), 2U);
  const Json after = co_await get("a");
  EXPECT_EQ(wire::find_string(before, "metadata.resourceVersion"),
            wire::find_string(after, "metadata.resourceVersion"));
}
TEST_F(AgentFaults, RestartAdopts) { run(restart_adopts()); }

// Without the API nothing changes, neither for an agent that runs nor for one that starts; after it
// is back everything is caught up.
Task<void> AgentFaults::silent_api() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::string b = co_await attach("b", "n2", 5, 2);
  Task<bool> wait9 = until([&] { return has(one_, a) && has(one_, b); });
  EXPECT_TRUE(co_await wait9);
  co_await one_.stop();
  co_await api_.stop();
  one_.start();
  const int opened = one_.fabric.opened;
  Task<bool> wait10 = until([&] { return one_.fabric.opened > opened; });
  EXPECT_TRUE(co_await wait10);
  const int audits = two_.fabric.audits;
  Task<bool> wait11 = until([&] { return two_.fabric.audits > audits + 5; });
  EXPECT_TRUE(co_await wait11);
  EXPECT_FALSE(one_.ready());
  EXPECT_TRUE(has(one_, a) && has(one_, b) && has(two_, b));
  co_await api_.start();
  Task<bool> wait12 = until([&] { return one_.ready(); });
  EXPECT_TRUE(co_await wait12);
  EXPECT_TRUE(has(one_, a) && has(one_, b));
  const std::string c = co_await attach("c", "n1", 5, 3);
  Task<bool> wait13 = until([&] { return has(one_, c) && has(two_, c); });
  EXPECT_TRUE(co_await wait13);
}
TEST_F(AgentFaults, SilentApiChangesNothing) { run(silent_api()); }

// What a node says of its own attachments waits until the fabric has dropped them, and with the
// last one in a network all others there; what it says of another network does not wait for it.
Task<void> AgentFaults::own_reports_wait() {
  const std::string a = co_await attach("a", "n1", 5, 1);
  const std::string b = co_await attach("b", "n2", 5, 2);
  const std::string c = co_await attach("c", "n1", 6, 1);
  const std::string d = co_await attach("d", "n2", 6, 2);
  const std::string e = co_await attach("e", "n2", 6, 3);
  Task<bool> all = until([&] {
    return std::ranges::all_of(std::vector{a, b, c, d, e},
                               [&](const std::string& id) { return has(one_, id); });
  });
  EXPECT_TRUE(co_await all);

  one_.fabric.stuck = {b};
  const std::uint64_t left = co_await remove("a");
  Task<bool> dropped = until([&] { return !has(one_, a); });
  EXPECT_TRUE(co_await dropped);
  std::uint64_t later = co_await remove("d");
  EXPECT_TRUE(co_await until_applied("n1", 6, later));
  EXPECT_LE(co_await applied_own("n1"), left);
  one_.fabric.stuck.clear();
  EXPECT_TRUE(co_await until_applied_own("n1", left));

  const std::string f = co_await attach("f", "n1", 6, 4);
  Task<bool> another = until([&] { return has(one_, f); });
  EXPECT_TRUE(co_await another);
  one_.fabric.stuck = {c};
  const std::uint64_t before = co_await applied_own("n1");
  (void)co_await remove("c");
  later = co_await remove("e");
  EXPECT_TRUE(co_await until_applied("n1", 6, later));
  EXPECT_EQ(co_await applied_own("n1"), before);
  one_.fabric.stuck.clear();
  EXPECT_TRUE(co_await until_applied_own("n1", before));
}
TEST_F(AgentFaults, OwnReportsWaitForTheFabric) { run(own_reports_wait()); }

}  // namespace
}  // namespace fairlead::networks
