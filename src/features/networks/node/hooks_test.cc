#include "features/networks/node/hooks.h"

#include <gtest/gtest.h>

#include <deque>

#include "features/networks/node/host_status.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::networks {
namespace {

fabric::Station station() {
  return {.id = "u",
          .vni = 5,
          .mac = Mac({2, 0, 10, 0, 0, 1}),
          .addresses = {*Ip::parse("10.0.0.1"), *Ip::parse("fd00::1")},
          .interface = "fl0"};
}

// Values are filled in in arguments only, and only once.
TEST(ExpandCommand, FillsInArguments) {
  const std::vector<std::string> expanded = expand_command(
      {"${ifname}", "a${ifname}b", "${ipv4},${ipv6}", "${mac}", "${mac", "$ipv4 ${other}", ""},
      station());
  EXPECT_EQ(expanded,
            (std::vector<std::string>{"${ifname}", "afl0b", "10.0.0.1,fd00::1", "02:00:0a:00:00:01",
                                      "${mac", "$ipv4 ${other}", ""}));
  fabric::Station tricky = station();
  tricky.interface = "${mac}";
  EXPECT_EQ(expand_command({"p", "${ifname}"}, tricky)[1], "${mac}");
  tricky.addresses.pop_back();
  EXPECT_EQ(expand_command({"p", "${ipv6}"}, tricky)[1], "");
}

// Whatever a program writes, the report is JSON, and not longer than allowed.
TEST(Printable, IsUtf8WithinTheLimit) {
  EXPECT_EQ(printable("plain\n", 100), "plain\n");
  EXPECT_EQ(printable("a\xff"
                      "b",
                      100),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(printable("\xE2\x82", 100), "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut inside a character
  EXPECT_EQ(printable("\xE2\x82\xAC\xE2\x82\xAC", 5), "\xE2\x82\xAC");
}

// Programs that run until the test ends them.
class HeldProcesses final : public runtime::Processes {
 public:
  Task<Result<runtime::ProcessEnd>> run(runtime::Command command) override {
    running.push_back(command.arguments.back());
    while (ends.empty()) {
      FL_CO_CHECKED(co_await ended.wait());
    }
    Result<runtime::ProcessEnd> end = std::move(ends.front());
    ends.pop_front();
    co_return end;
  }
  void end(Result<runtime::ProcessEnd> how) {
    ends.push_back(std::move(how));
    ended.notify();
  }
  std::vector<std::string> running;  // all that were started
  std::deque<Result<runtime::ProcessEnd>> ends;
  runtime::Signal ended;
};

class HooksTest : public ::testing::Test {
 protected:
  HooksTest() { scope_.spawn(hooks_.run()); }
  void start(const std::string& uid, const std::string& what,
             Hooks::Kind kind = Hooks::Kind::post_create) {
    hooks_.start(kind, uid, {"/bin/hook", what}, station());
    runtime_.settle();
  }
  void end(Result<runtime::ProcessEnd> how) {
    processes_.end(std::move(how));
    runtime_.settle();
  }

  runtime::ManualRuntime runtime_;
  HeldProcesses processes_;
  metrics::Registry registry_;
  NetworksMetrics metrics_{registry_};
  std::vector<ExecReport> reports_;
  Hooks hooks_{
      runtime_, processes_, metrics_,
      HookLimits{.allowed_programs = {"/bin/hook"}, .time = 2s, .output = 10, .at_once = 2},
      [this](const std::string&, ExecReport report) { reports_.push_back(std::move(report)); }};
  runtime::Scope scope_{runtime_};
};

// No more than so many at once, and those of one attachment one after the other.
TEST_F(HooksTest, BoundedAndInOrder) {
  start("a", "a1");
  start("a", "a2", Hooks::Kind::post_delete);
  start("b", "b1");
  start("c", "c1");
  EXPECT_EQ(processes_.running, (std::vector<std::string>{"a1", "b1"}));
  end(runtime::ProcessEnd{});
  EXPECT_EQ(processes_.running.size(), 3U);
  for (int i = 0; i < 3; ++i) end(runtime::ProcessEnd{});
  EXPECT_EQ(processes_.running.size(), 4U);
  EXPECT_EQ(reports_.size(), 3U);  // not of the deletion
}

// What may not run does not.
TEST_F(HooksTest, OnlyWhatIsAllowed) {
  EXPECT_TRUE(hooks_.allowed({}));
  EXPECT_FALSE(hooks_.allowed({"/bin/hook2"}));
  hooks_.start(Hooks::Kind::post_create, "a", {"/bin/hook2"}, station());
  hooks_.start(Hooks::Kind::post_create, "a", {}, station());
  runtime_.settle();
  EXPECT_TRUE(processes_.running.empty());
}

// However it ended, the report says so.
TEST_F(HooksTest, ReportsEveryEnd) {
  using Kind = runtime::ProcessEnd::Kind;
  start("a", "1");
  end(runtime::ProcessEnd{.status = 4, .output = "out", .errors = "err"});
  start("a", "2");
  end(runtime::ProcessEnd{.kind = Kind::killed, .status = 9});
  start("a", "3");
  end(runtime::ProcessEnd{.kind = Kind::timed_out, .errors = "x", .output_cut = true});
  start("a", "4");
  end(fail(Code::not_found, "start /bin/hook: No such file or directory"));
  start("a", "5");
  end(runtime::ProcessEnd{.left_behind = true});
  ASSERT_EQ(reports_.size(), 5U);
  EXPECT_EQ(reports_[0].exit_status, 4);
  EXPECT_EQ(reports_[0].std_out, "out");
  EXPECT_EQ(reports_[0].std_err, "err");
  EXPECT_EQ(reports_[1].exit_status, networks::kHookEndedBySignal);
  EXPECT_EQ(reports_[1].std_err, "fairlead: ended by signal 9\n");
  EXPECT_EQ(reports_[2].exit_status, networks::kHookTimedOut);
  EXPECT_EQ(reports_[2].std_err,
            "x\nfairlead: killed after 2 s\nfairlead: output beyond 10 bytes dropped\n");
  EXPECT_EQ(reports_[3].exit_status, networks::kHookNotStarted);
  EXPECT_EQ(reports_[4].exit_status, 0);
  EXPECT_EQ(reports_[4].std_err, "fairlead: what it started may still run\n");
}

// A patch says what differs and nothing else, and takes away what is no longer so.
TEST(StatusPatch, IsTheDifference) {
  HostStatus known;
  EXPECT_FALSE(plan_status_patch("u", known, known));
  HostStatus made{.interface = "fl0", .host = "192.0.2.1", .errors = {}, .report = {}};
  EXPECT_EQ(
      plan_status_patch("u", known, made),
      (Json(JsonObject{{"metadata", JsonObject{{"uid", "u"}}},
                       {"status", JsonObject{{"ifcName", "fl0"}, {"hostIP", "192.0.2.1"}}}})));
  HostStatus failed{.interface = {}, .host = {}, .errors = {"no room"}, .report = {}};
  const std::optional<Json> patch = plan_status_patch("u", made, failed);
  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->at("status"),
            (Json(JsonObject{{"ifcName", nullptr},
                             {"hostIP", nullptr},
                             {"errors", JsonObject{{"host", JsonArray{"no room"}}}}})));
  EXPECT_EQ(plan_status_patch("u", failed, made)->at("status").at("errors"),
            (Json(JsonObject{{"host", nullptr}})));
  HostStatus ran = made;
  ran.report = std::make_shared<const ExecReport>(
      ExecReport{.command = {"p"}, .exit_status = 0, .std_out = "x"});
  HostStatus again = made;
  again.report = std::make_shared<const ExecReport>(ExecReport{.command = {"p"}, .exit_status = 1});
  EXPECT_FALSE(plan_status_patch("u", ran, ran));
  const std::optional<Json> second = plan_status_patch("u", ran, again);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->at("status").at("postCreateExecReport").at("stdOut").is_null());
  EXPECT_FALSE(second->at("status").as_object().contains("ifcName"));
}

}  // namespace
}  // namespace fairlead::networks
