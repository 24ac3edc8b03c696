// Gates with a clock and programs of the test's own: when is asked what, and what is told.
#include "features/vip/gates/gates.h"

#include <gtest/gtest.h>

#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

// Programs whose exit status is what the test last said of them. Those it said nothing of hang.
class SetProcesses final : public runtime::Processes {
 public:
  Task<Result<runtime::ProcessEnd>> run(runtime::Command command) override {
    const std::string program = command.arguments[0];
    ++asked[program];
    while (!status.contains(program)) {
      FL_CO_CHECKED(co_await changed.wait());
    }
    co_return runtime::ProcessEnd{.status = status[program], .output = "says " + program};
  }
  std::map<std::string, int> status;
  std::map<std::string, int> asked;
  runtime::Signal changed;
};

GateConfig program(const std::string& path, Duration interval = 1s) {
  return {.name = "command " + path,
          .kind = GateConfig::Kind::command,
          .command = {path},
          .interval = interval,
          .rise = 1,
          .fall = 2};
}

VipEntry entry(const std::string& address, std::vector<GateConfig> gates) {
  VipEntry entry;
  entry.vip.address = *Ip::parse(address);
  entry.gates = std::move(gates);
  return entry;
}

class GatesTest : public testing::Test {
 protected:
  GatesTest() { scope_.spawn(gates_.run()); }
  void follow(const std::vector<VipEntry>& vips) {
    gates_.follow(vips);
    runtime_.settle();
  }
  std::string told() { return std::exchange(told_, ""); }
  void set(const std::string& path, int status) {
    processes_.status[path] = status;
    processes_.changed.notify();
    runtime_.settle();
  }

  runtime::ManualRuntime runtime_;
  SetProcesses processes_;
  metrics::Registry registry_;
  std::string told_;
  Gates gates_{
      {.runtime = runtime_, .processes = &processes_, .metrics = registry_},
      [this](const Ip& vip, bool healthy) { told_ += vip.to_string() + (healthy ? "+ " : "- "); }};
  runtime::Scope scope_{runtime_};
};

// Without gates a VIP is well; with some it is sick until the first answers.
TEST_F(GatesTest, FirstAnswers) {
  follow({entry("10.0.0.1", {}), entry("10.0.0.2", {program("/a"), program("/b")})});
  EXPECT_EQ(told(), "10.0.0.1+ 10.0.0.2- ");
  set("/a", 0);
  EXPECT_EQ(told(), "");
  set("/b", 0);
  EXPECT_EQ(told(), "10.0.0.2+ ");
  EXPECT_TRUE(gates_.healthy(*Ip::parse("10.0.0.2")));
  EXPECT_FALSE(gates_.healthy(*Ip::parse("10.0.0.9")));
}

// Sick after `fall` bad answers, well again after `rise` good ones; told once each.
TEST_F(GatesTest, FallsAndRises) {
  processes_.status = {{"/a", 0}};
  follow({entry("10.0.0.1", {program("/a")})});
  EXPECT_EQ(told(), "10.0.0.1- 10.0.0.1+ ");
  processes_.status["/a"] = 3;
  runtime_.advance(1100ms);
  EXPECT_EQ(told(), "");
  EXPECT_EQ(gates_.reports(*Ip::parse("10.0.0.1"))[0].problem, "exit status 3: says /a");
  runtime_.advance(1100ms);
  EXPECT_EQ(told(), "10.0.0.1- ");
  runtime_.advance(10s);
  EXPECT_EQ(told(), "");
  processes_.status["/a"] = 0;
  runtime_.advance(1100ms);
  EXPECT_EQ(told(), "10.0.0.1+ ");
  const std::string page = registry_.expose();
  EXPECT_NE(page.find("fairlead_vip_gate_well{gate=\"command /a\"} 1"), std::string::npos) << page;
  EXPECT_NE(page.find("fairlead_vip_gate_answers_total{gate=\"command /a\",outcome=\"bad\"}"),
            std::string::npos)
      << page;
}

// One gate of many VIPs is asked once, and tells all of them.
TEST_F(GatesTest, SameGateIsAskedOnce) {
  processes_.status = {{"/a", 0}};
  follow({entry("10.0.0.1", {program("/a")}), entry("10.0.0.2", {program("/a"), program("/a")}),
          entry("10.0.0.3", {program("/a", 2s)})});
  EXPECT_EQ(processes_.asked["/a"], 2);  // with another interval it is another gate
  EXPECT_EQ(gates_.size(), 2U);
  told();
  processes_.status["/a"] = 1;
  runtime_.advance(4500ms);
  EXPECT_EQ(told(), "10.0.0.1- 10.0.0.2- 10.0.0.3- ");
}

// A question is not asked again before it was answered.
TEST_F(GatesTest, OneQuestionAtATime) {
  follow({entry("10.0.0.1", {program("/hangs")})});
  runtime_.advance(60s);
  EXPECT_EQ(processes_.asked["/hangs"], 1);
}

// A new configuration keeps what is known, asks what is new, and ends what is gone.
TEST_F(GatesTest, FollowsChanges) {
  processes_.status = {{"/a", 0}};
  follow({entry("10.0.0.1", {program("/a")}), entry("10.0.0.2", {program("/a")})});
  told();
  // A gate that has not answered yet does not make a VIP sick that is well.
  follow({entry("10.0.0.1", {program("/a"), program("/b")})});
  EXPECT_EQ(told(), "");
  EXPECT_EQ(processes_.asked["/b"], 1);
  set("/b", 1);
  EXPECT_EQ(told(), "10.0.0.1- ");
  follow({entry("10.0.0.1", {})});
  EXPECT_EQ(told(), "10.0.0.1+ ");
  const int asked = processes_.asked["/a"];
  runtime_.advance(60s);
  EXPECT_EQ(processes_.asked["/a"], asked);
  EXPECT_EQ(registry_.expose().find("gate_well{"), std::string::npos);
}

// Ends when it is cancelled, with a program under way.
TEST_F(GatesTest, Ends) {
  follow({entry("10.0.0.1", {program("/hangs")})});
  scope_.cancel();
  runtime_.settle();
  EXPECT_EQ(scope_.size(), 0U);
}

}  // namespace
}  // namespace fairlead::vip
