// Notify commands: in order, one at a time, the last state wins.
#include "features/vip/gates/notifier.h"

#include <gtest/gtest.h>

#include <deque>

#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

// Programs that run until the test ends one, in the order in which they were started.
class HeldProcesses final : public runtime::Processes {
 public:
  Task<Result<runtime::ProcessEnd>> run(runtime::Command command) override {
    started.push_back(command.environment[0].substr(13) + " " + command.environment[1].substr(15) +
                      " " + command.environment[2].substr(15));
    const std::size_t mine = ++count;
    while (ended < mine) {
      FL_CO_CHECKED(co_await changed.wait());
    }
    co_return runtime::ProcessEnd{};
  }
  std::vector<std::string> started;
  std::size_t count = 0;
  std::size_t ended = 0;
  runtime::Signal changed;
};

VipEntry entry(const std::string& address, std::vector<std::string> notify) {
  VipEntry entry;
  entry.vip.address = *Ip::parse(address);
  entry.vip.interface = "eth0";
  entry.notify = std::move(notify);
  return entry;
}

class NotifierTest : public testing::Test {
 protected:
  NotifierTest() { scope_.spawn(notifier_.run()); }
  void tell(const std::string& vip, bool held, Epoch epoch) {
    notifier_.tell({.vip = *Ip::parse(vip), .held = held, .epoch = epoch});
    runtime_.settle();
  }
  void end_one() {
    ++processes_.ended;
    processes_.changed.notify();
    runtime_.settle();
  }
  runtime::ManualRuntime runtime_;
  HeldProcesses processes_;
  metrics::Registry registry_;
  Notifier notifier_{{.runtime = runtime_, .processes = &processes_, .metrics = registry_}, "n"};
  runtime::Scope scope_{runtime_};
};

// At the end, what was told as held is told as released, once; the rest is left alone.
TEST_F(NotifierTest, TellsTheEnd) {
  notifier_.follow(
      {entry("10.0.0.1", {"/n"}), entry("10.0.0.2", {"/n"}), entry("10.0.0.3", {"/n"})});
  tell("10.0.0.1", true, 1);
  tell("10.0.0.2", true, 1);
  end_one();
  end_one();
  tell("10.0.0.2", false, 1);
  scope_.cancel();  // also while one runs
  runtime_.settle();
  runtime::Scope last(runtime_);
  last.spawn(notifier_.tell_the_end());
  runtime_.settle();
  EXPECT_EQ(processes_.started,
            (std::vector<std::string>{"10.0.0.1 held 1", "10.0.0.2 held 1", "10.0.0.2 released 1",
                                      "10.0.0.1 released 1"}));
  end_one();
  end_one();
  EXPECT_EQ(last.size(), 0U);
}

TEST_F(NotifierTest, LastStateWins) {
  notifier_.follow({entry("10.0.0.1", {"/n"}), entry("10.0.0.2", {"/n"}), entry("10.0.0.3", {})});
  tell("10.0.0.1", true, 1);
  tell("10.0.0.2", true, 1);  // another VIP does not wait
  tell("10.0.0.3", true, 1);  // has no command
  tell("10.0.0.4", true, 1);  // is not known
  tell("10.0.0.1", false, 1);
  tell("10.0.0.1", true, 2);
  EXPECT_EQ(processes_.started, (std::vector<std::string>{"10.0.0.1 held 1", "10.0.0.2 held 1"}));
  end_one();
  ASSERT_EQ(processes_.started.size(), 3U);
  EXPECT_EQ(processes_.started[2], "10.0.0.1 held 2");
  end_one();
  end_one();
  EXPECT_EQ(processes_.started.size(), 3U);
  const std::string page = registry_.expose();
  EXPECT_NE(page.find("fairlead_vip_notify_total{outcome=\"skipped\"} 1"), std::string::npos);
  EXPECT_NE(page.find("fairlead_vip_notify_total{outcome=\"ok\"} 3"), std::string::npos) << page;
}

// What is back where it was when its turn comes needs no command.
TEST_F(NotifierTest, NothingChanged) {
  notifier_.follow({entry("10.0.0.1", {"/n"})});
  tell("10.0.0.1", true, 1);
  tell("10.0.0.1", false, 1);
  tell("10.0.0.1", true, 1);
  end_one();
  EXPECT_EQ(processes_.started.size(), 1U);
}

// A new configuration drops what waits for a VIP that is gone.
TEST_F(NotifierTest, FollowsChanges) {
  notifier_.follow({entry("10.0.0.1", {"/n"})});
  tell("10.0.0.1", true, 1);
  tell("10.0.0.1", false, 1);
  notifier_.follow({});
  end_one();
  EXPECT_EQ(processes_.started.size(), 1U);
}

// A real program sees its environment, and what it writes is bounded.
TEST(Notifier, RunsPrograms) {
  runtime::EpollRuntime runtime;
  runtime::EpollProcesses processes(runtime);
  metrics::Registry registry;
  Notifier notifier({.runtime = runtime, .processes = &processes, .metrics = registry}, "node-a");
  const std::string path =
      testing::TempDir() + "/notifier_test." + std::to_string(runtime.random());
  notifier.follow({entry("fd00::75", {"/bin/sh", "-c",
                                      "echo $FAIRLEAD_VIP $FAIRLEAD_STATE $FAIRLEAD_EPOCH "
                                      "$FAIRLEAD_NODE $FAIRLEAD_INTERFACE >" +
                                          path + "; yes | head -c 100000; exit 0"})});
  const auto scenario = [&]() -> Task<Result<>> {
    runtime::Scope scope(runtime);
    scope.spawn(notifier.run());
    notifier.tell({.vip = *Ip::parse("fd00::75"), .held = false, .epoch = 7});
    while (registry.expose().find("outcome=\"ok\"} 1") == std::string::npos) {
      FL_CO_CHECKED(co_await runtime::sleep(runtime, 5ms));
    }
    co_await scope.close();
    co_return Result<>{};
  };
  ASSERT_TRUE(runtime.run_until_complete(runtime::with_timeout(runtime, 20s, scenario())));
  const Result<std::string> written = runtime.files().read(path);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, "fd00::75 released 7 node-a eth0\n");
  (void)runtime.files().remove(path);
}

}  // namespace
}  // namespace fairlead::vip
