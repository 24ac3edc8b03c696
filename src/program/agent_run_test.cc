// The agent as a program: it ends when it is asked to, and with an error when a feature ends.
#include "program/agent_run.h"

#include <gtest/gtest.h>

namespace fairlead::program {
namespace {

// Runs until it is cancelled, or not at all.
class TestFeature final : public agent::NodeFeature {
 public:
  explicit TestFeature(bool ends) : ends_(ends) {}
  std::string_view name() const override { return "test"; }
  Task<void> run() override {
    if (!ends_) (void)co_await forever_.wait();
  }
  agent::Readiness readiness() const override { return {.ready = true, .reason = {}}; }

 private:
  bool ends_;
  runtime::Signal forever_;
};

Result<> run_to_its_end(bool ends) {
  runtime::EpollRuntime runtime;
  const agent::FeaturePlan plan{
      .name = "test",
      .needs_api = false,
      .make = [ends](const agent::NodeContext&) -> Result<std::unique_ptr<agent::NodeFeature>> {
        return std::make_unique<TestFeature>(ends);
      }};
  command::StopRequest stop;
  const auto stop_when_ready = [&](agent::NodeAgent&) {
    if (!ends) stop.ask();
  };
  return runtime.run_until_complete(
      run_agent(runtime, agent::AgentOptions{.node = "n1"}, {plan}, stop_when_ready, stop));
}

TEST(AgentRun, AFeatureThatEndsIsAnError) {
  EXPECT_TRUE(run_to_its_end(false));
  const Result<> ended = run_to_its_end(true);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "feature test has ended by itself");
}

}  // namespace
}  // namespace fairlead::program
