#include "bench/network_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <map>
#include <numeric>
#include <random>
#include <set>

namespace fairlead::bench {
namespace {

RandomBits bits(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)]() mutable { return engine(); };
}

TEST(NetworkPlan, SizesFollowThePowerLaw) {
  const auto networks = plan_networks({.networks = 4, .top_size = 100}, bits(1));
  ASSERT_EQ(networks.size(), 4U);
  EXPECT_EQ(networks[0].slots, 100U);
  EXPECT_EQ(networks[1].slots, 50U);
  EXPECT_EQ(networks[2].slots, 34U);
  EXPECT_EQ(networks[3].slots, 25U);
  EXPECT_EQ(networks[3].vni, networks[0].vni + 3);
}

// Every slot of a network finds an address: blocks leave out two at the start and one at the end.
TEST(NetworkPlan, BlocksHaveRoom) {
  for (std::size_t size = 1; size < 3'000; ++size) {
    const auto networks =
        plan_networks({.networks = 1, .top_size = static_cast<double>(size)}, bits(1));
    const std::size_t addresses = std::size_t{1} << (32 - networks[0].block.prefix());
    EXPECT_GE(addresses <= 4 ? addresses : addresses - 3, size) << size;
  }
}

TEST(NetworkPlan, StepsNeverExceedTheSlotsAndEndEmpty) {
  const AttachmentSettings settings{.networks = 5, .top_size = 7, .attachments = 60};
  const auto networks = plan_networks(settings, bits(2));
  std::map<std::size_t, std::set<std::uint64_t>> present;
  std::size_t creates = 0;
  for (const Step& step : plan_steps(settings, networks, bits(3))) {
    if (step.kind == Step::Kind::create) {
      ++creates;
      EXPECT_TRUE(present[step.network].insert(step.attachment).second);
      EXPECT_LE(present[step.network].size(), networks[step.network].slots);
    } else {
      EXPECT_EQ(present[step.network].erase(step.attachment), 1U);
    }
  }
  EXPECT_EQ(creates, 60U);
  for (const auto& [network, attachments] : present) EXPECT_TRUE(attachments.empty());
}

TEST(NetworkPlan, TimesKeepTheRate) {
  for (const bool poisson : {false, true}) {
    const auto times = plan_times(100, poisson, 10'001, bits(4));
    const double seconds = std::chrono::duration<double>(times.back()).count();
    EXPECT_NEAR(seconds, 100, poisson ? 5 : 1e-6);
    EXPECT_TRUE(std::ranges::is_sorted(times));
  }
}

// A released address is not given again at once: spare room keeps the next one from waiting.
TEST(NetworkPlan, BlocksHaveSpareRoom) {
  const auto prefix = [](double factor) {
    const AttachmentSettings settings{.networks = 1, .top_size = 50, .subnet_size_factor = factor};
    return plan_networks(settings, bits(1)).front().block.prefix();
  };
  EXPECT_EQ(prefix(1), 26);
  EXPECT_EQ(prefix(2), 25);
  EXPECT_EQ(prefix(4), 24);
  EXPECT_EQ(prefix(1'000), 16);
}

// The three phases cover all steps, at the rates that were asked for.
TEST(NetworkPlan, PhasesFollowTheSteps) {
  AttachmentSettings settings{.networks = 1, .top_size = 10, .attachments = 25, .rate = 7};
  const auto steps = plan_steps(settings, plan_networks(settings, bits(2)), bits(3));
  const auto phases = [&] { return plan_phases(settings, steps); };
  ASSERT_EQ(phases().size(), 3U);
  EXPECT_EQ(phases()[0].end, 10U);
  EXPECT_EQ(phases()[1].begin, 10U);
  EXPECT_EQ(phases()[1].end, 40U);  // 15 times one goes and one comes
  EXPECT_EQ(phases()[2].end, steps.size());
  for (const Phase& phase : phases()) EXPECT_EQ(phase.rate, 7);
  settings.fill_rate = 0;
  EXPECT_EQ(phases()[0].rate, 0);
  EXPECT_EQ(phases()[1].rate, 7);
  EXPECT_EQ(phases()[2].rate, 0);
}

TEST(NetworkPlan, WithoutChurnThereIsNoCruise) {
  const AttachmentSettings settings{.networks = 1, .top_size = 10, .attachments = 10};
  const auto steps = plan_steps(settings, plan_networks(settings, bits(2)), bits(3));
  const auto phases = plan_phases(settings, steps);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_STREQ(phases[0].name, "warm-up");
  EXPECT_STREQ(phases[1].name, "cool-down");
}

TEST(NetworkPlan, PeersAreWeightedBySize) {
  EXPECT_DOUBLE_EQ(average_peers({{.slots = 1}, {.slots = 3}}), 1.5);
}

TEST(NetworkPlan, WrongSettingsNameTheFlag) {
  const auto problem = [](AttachmentSettings settings) {
    const auto checked = check_settings(std::move(settings));
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_TRUE(problem({.networks = 0}).starts_with("--networks"));
  EXPECT_TRUE(problem({.top_size = 0}).starts_with("--top-size"));
  EXPECT_TRUE(problem({.fill_rate = -1}).starts_with("--fill-rate"));
  EXPECT_TRUE(problem({.subnet_size_factor = 0.5}).starts_with("--subnet-size-factor"));
  EXPECT_TRUE(problem({.rate = 0, .poisson = true}).starts_with("--poisson"));
}

}  // namespace
}  // namespace fairlead::bench
