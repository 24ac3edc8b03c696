// The programs that an attachment names run once for each interface, and are told of.
#include "features/networks/node/node_world_test.h"
#include "node/fabric/names.h"

namespace fairlead::networks {
namespace {

class AgentHooks : public AgentWorld {
 protected:
  Task<void> hooks_run();
  Task<void> unreported_hook();
  Task<void> hook_after_audit();
  Task<void> hook_time();
};

// Hooks run when an interface was made and when it is gone, with what they asked for filled in; the
// outcome of the first is in the status.
Task<void> AgentHooks::hooks_run() {
  const std::string a = co_await attach(
      "a", "n1", 5, 1,
      {{"postCreateExec", JsonArray{"/bin/hook", "up", "${ifname}/${ipv4}/${mac}/${ipv6}"}},
       {"postDeleteExec", JsonArray{"/bin/hook", "old"}}});
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    const Json* status = wire::find(object, "status.postCreateExecReport.exitStatus");
    return status && status->to_number<int>() == 3 &&
           wire::find_string(object, "status.postCreateExecReport.stdOut") == "hello" &&
           !wire::find_string(object, "status.postCreateExecReport.startTime").empty();
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  const std::vector<std::string> up{
      "/bin/hook", "up", fabric::guest_interface_name(a) + "/10.0.0.1/02:00:0a:00:00:01/"};
  CHECK(one_.processes.commands.size() == 1);
  EXPECT_EQ(one_.processes.commands.front(), up);

  Json change = JsonObject{{"spec", JsonObject{{"postDeleteExec", JsonArray{"/bin/hook", "new"}}}}};
  const Result<Json> changed = co_await admin_->patch(kAttachments, "default", "a",
                                                      client::PatchKind::merge, std::move(change));
  EXPECT_TRUE(changed.has_value());
  co_await remove("a");
  Task<bool> wait5 = until([&] { return one_.processes.commands.size() == 2; });
  EXPECT_TRUE(co_await wait5);
  const std::vector<std::string> down{"/bin/hook", "new"};
  EXPECT_EQ(one_.processes.commands.back(), down);

  co_await attach("b", "n1", 5, 1, {{"postCreateExec", JsonArray{"/bin/other"}}});
  const std::function<bool(const Json&)> refused = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors && !wire::find_string(object, "status.ifcName").empty() &&
           errors->at(0) == "postCreateExec: /bin/other is not an allowed program on this node";
  };
  EXPECT_TRUE(co_await until_object("b", refused));

  // Of the other hook this is told before it is too late, and until it is changed.
  co_await attach("c", "n1", 5, 2, {{"postDeleteExec", JsonArray{"/bin/other"}}});
  const std::function<bool(const Json&)> refused_too = [](const Json& object) {
    const Json* errors = wire::find(object, "status.errors.host");
    return errors &&
           errors->at(0) == "postDeleteExec: /bin/other is not an allowed program on this node";
  };
  EXPECT_TRUE(co_await until_object("c", refused_too));
  Json allowed = JsonObject{{"spec", JsonObject{{"postDeleteExec", JsonArray{"/bin/hook"}}}}};
  const Result<Json> mended = co_await admin_->patch(kAttachments, "default", "c",
                                                     client::PatchKind::merge, std::move(allowed));
  EXPECT_TRUE(mended.has_value());
  const std::function<bool(const Json&)> well = [](const Json& object) {
    return !wire::find(object, "status.errors.host");
  };
  EXPECT_TRUE(co_await until_object("c", well));
  EXPECT_EQ(one_.processes.commands.size(), 2U);
}
TEST_F(AgentHooks, HooksRun) { run(hooks_run()); }

// An agent that died while a hook ran has told nobody how it ended: the next one runs it again.
Task<void> AgentHooks::unreported_hook() {
  one_.processes.hanging = true;
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  const std::string a = co_await attach("a", "n1", 5, 1, hook);
  Task<bool> started = until([&] { return one_.processes.commands.size() == 1; });
  EXPECT_TRUE(co_await started);
  co_await one_.stop();
  EXPECT_TRUE(has(one_, a));
  one_.processes.hanging = false;
  one_.start();
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    return wire::find(object, "status.postCreateExecReport") != nullptr;
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  EXPECT_EQ(one_.processes.commands.size(), 2U);
}
TEST_F(AgentHooks, AHookThatWasNotReportedRunsAgain) { run(unreported_hook()); }

// How long a hook runs is no part of how long it took until the status told the interface.
Task<void> AgentHooks::hook_time() {
  one_.processes.hanging = true;
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  co_await attach("a", "n1", 5, 1, hook);
  const std::function<bool(const Json&)> made = [](const Json& object) {
    return !wire::find_string(object, "status.ifcName").empty();
  };
  EXPECT_TRUE(co_await until_object("a", made));
  Task<bool> started = until([&] { return one_.processes.commands.size() == 1; });
  EXPECT_TRUE(co_await started);
  const auto counted = [this](const char* what, int times) {
    const std::string line = fmt::format(
        "fairlead_agent_last_client_write_to_{}_latency_seconds_count{{last_client_wr=\"na\"}} "
        "{}\n",
        what, times);
    return one_.program->metrics().expose().find(line) != std::string::npos;
  };
  Task<bool> told = until([&] { return counted("status_update", 1); });
  EXPECT_TRUE(co_await told);
  EXPECT_FALSE(counted("hook_report", 1));
  one_.processes.let_go.notify();
  const std::function<bool(const Json&)> reported = [](const Json& object) {
    return wire::find(object, "status.postCreateExecReport") != nullptr;
  };
  EXPECT_TRUE(co_await until_object("a", reported));
  Task<bool> ended = until([&] { return counted("hook_report", 1); });
  EXPECT_TRUE(co_await ended);
  EXPECT_TRUE(counted("status_update", 1));
}
TEST_F(AgentHooks, TheTimeOfAHookIsItsOwn) { run(hook_time()); }

// An interface that somebody removed is made again by an audit, and its hook runs for the new one.
Task<void> AgentHooks::hook_after_audit() {
  const JsonObject hook{{"postCreateExec", JsonArray{"/bin/hook"}}};
  const std::string a = co_await attach("a", "n1", 5, 1, hook);
  Task<bool> first = until([&] { return one_.processes.commands.size() == 1; });
  EXPECT_TRUE(co_await first);
  const fabric::Desired nothing;
  const std::vector<std::string> ids{a};
  (void)co_await one_.fabric.log.apply(nothing, ids);
  EXPECT_FALSE(has(one_, a));
  Task<bool> second = until([&] { return one_.processes.commands.size() == 2; });
  EXPECT_TRUE(co_await second);
  EXPECT_TRUE(has(one_, a));
}
TEST_F(AgentHooks, AHookRunsForAnInterfaceThatAnAuditMade) { run(hook_after_audit()); }

}  // namespace
}  // namespace fairlead::networks
