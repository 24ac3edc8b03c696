#include "tools/bench/network_plan.h"

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
    const std::size_t addresses = std::size_t{1} << (32 - networks[0].blocks[0].prefix());
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
    return plan_networks(settings, bits(1)).front().blocks[0].prefix();
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

// Two subnets of a network share its places, do not overlap, and begin where they were told to.
TEST(NetworkPlan, SubnetsOfANetwork) {
  const AttachmentSettings settings{.networks = 3,
                                    .top_size = 9,
                                    .exponent = 0,
                                    .attachments = 27,
                                    .base_address = "172.24.0.0",
                                    .subnets_per_network = 2};
  const auto networks = plan_networks(settings, bits(5));
  for (const PlannedNetwork& network : networks) {
    ASSERT_EQ(network.blocks.size(), 2U);
    EXPECT_EQ(network.blocks[0].to_string(), "172.24.0.0/29");
    EXPECT_EQ(network.blocks[1].to_string(), "172.24.0.8/29");
    EXPECT_FALSE(network.blocks[0].overlaps(network.blocks[1]));
  }
  std::map<std::pair<std::size_t, std::size_t>, int> places;
  for (const Step& step : plan_steps(settings, networks, bits(6)))
    if (step.kind == Step::Kind::create) ++places[{step.network, step.subnet}];
  for (const auto& [subnet, count] : places) EXPECT_EQ(count, subnet.second == 0 ? 5 : 4);
  EXPECT_EQ(places.size(), 6U);
}

// A place stays in its subnet, whoever has it: no block is ever asked for more than it has.
TEST(NetworkPlan, SubnetsKeepTheirRoomDuringTheCruise) {
  const AttachmentSettings settings{
      .networks = 2, .top_size = 5, .attachments = 200, .subnets_per_network = 3};
  const auto networks = plan_networks(settings, bits(7));
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> present;
  for (const Step& step : plan_steps(settings, networks, bits(8))) {
    std::size_t& count = present[{step.network, step.subnet}];
    count += step.kind == Step::Kind::create ? 1 : std::size_t(-1);
    EXPECT_LE(count, (networks[step.network].slots + 2) / 3);
  }
}

// The fraction is that of all attachments; without --ping nothing is tested.
TEST(NetworkPlan, FractionTested) {
  const auto tested = [](bool ping, double fraction) {
    const AttachmentSettings settings{.networks = 1,
                                      .top_size = 10,
                                      .attachments = 2'000,
                                      .ping = ping,
                                      .test_fraction = fraction};
    const auto steps = plan_steps(settings, plan_networks(settings, bits(1)), bits(2));
    return std::ranges::count_if(
        steps, [](const Step& s) { return s.kind == Step::Kind::create && s.tested; });
  };
  EXPECT_EQ(tested(false, 1), 0);
  EXPECT_EQ(tested(true, 1), 2'000);
  EXPECT_EQ(tested(true, 0), 0);
  EXPECT_NEAR(static_cast<double>(tested(true, 0.1)), 200, 60);
}

TEST(NetworkPlan, SizesAsCsv) {
  const auto networks = plan_networks({.networks = 2, .top_size = 4, .subnets_per_network = 2},
                                      [] { return std::uint64_t{0}; });
  EXPECT_EQ(sizes_csv(networks),
            "network,vni,places,blocks\n"
            "0,1,4,10.0.0.0/29 10.0.0.8/29\n"
            "1,2,2,10.0.0.0/30 10.0.0.4/30\n");
}

// What --estimate prints: sizes, times, and what the nodes will carry.
TEST(NetworkPlan, Estimate) {
  AttachmentSettings settings{
      .networks = 2, .top_size = 10, .exponent = 0, .attachments = 50, .rate = 10};
  std::string text = estimate_text(settings, 1, bits(1));
  for (const char* line :
       {"2 networks with 2 subnets and 20 places, largest 10, smallest 10; 9.0 peers",
        "warm-up: 20 operations in 2.0 s", "cruise: 60 operations in 6.0 s",
        "cool-down: 20 operations in 2.0 s", "an attachment of the cruise lives 4.0 s",
        "1 nodes carry about 20 stations", "10.0 s in all"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " is missing in\n" << text;
  settings.rate = 0;
  text = estimate_text(settings, 0, bits(1));
  EXPECT_EQ(text.find("s in all"), std::string::npos) << text;
  EXPECT_NE(text.find("as fast as they are answered"), std::string::npos) << text;
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
  EXPECT_TRUE(problem({.base_address = "10.0.0"}).starts_with("--base-address 10.0.0: is no"));
  EXPECT_TRUE(problem({.base_address = "fd00::"}).starts_with("--base-address fd00::: is no"));
  EXPECT_EQ(
      problem({.base_address = "10.0.0.64"}),
      "--base-address 10.0.0.64: must be a multiple of 128, the size of the largest network's "
      "blocks");
  EXPECT_NE(problem({.base_address = "255.255.255.128", .subnets_per_network = 3}), "");
  EXPECT_TRUE(problem({.subnets_per_network = 0}).starts_with("--subnets-per-network"));
  EXPECT_TRUE(problem({.test_fraction = 1.5}).starts_with("--test-fraction"));
  EXPECT_TRUE(problem({.ping_count = 0}).starts_with("--ping-count"));
  EXPECT_TRUE(problem({.nodes = {"a"}, .node_selector = "x=y"}).starts_with("--node-selector"));
  EXPECT_TRUE(problem({.rate = 0, .poisson = true}).starts_with("--poisson"));
}

}  // namespace
}  // namespace fairlead::bench
