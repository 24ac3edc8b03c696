#include "sim/world/seeds.h"

#include <gtest/gtest.h>

#include <string>

#include "foundation/base/check.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::sim {
namespace {

Task<void> draw_and_sleep(Machine& machine, int& draws) {
  for (;;) {
    const Duration pause(1 + machine.random() % 1'000'000);
    ++draws;
    if (!co_await runtime::sleep(machine, pause)) co_return;
  }
}

Result<> well_behaved(World& world) {
  int& draws = world.own<int>(0);
  world.add_machine("a").start([&draws](Machine& m) { return draw_and_sleep(m, draws); });
  world.run_for(100ms);
  return {};
}

// A scenario that depends on the seed alone passes; every seed is another story.
TEST(Seeds, DeterministicScenarioPasses) {
  const SeedReport report = explore_seeds({.count = 20, .fixed_count = true}, well_behaved);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.seeds, 20u);
  EXPECT_GT(report.events, 1'000u);
}

// Something that remembers between runs is caught, and the first event that differs is shown.
TEST(Seeds, HiddenStateIsFound) {
  int hidden = 0;
  const Scenario scenario = [&hidden](World& world) -> Result<> {
    world.note("same");
    world.note("run " + std::to_string(++hidden));
    return {};
  };
  const SeedReport report = explore_seeds({.count = 1, .fixed_count = true}, scenario);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_TRUE(report.failures[0].reason.starts_with("two runs differ"));

  World first(1);
  World second(1);
  (void)scenario(first);
  (void)scenario(second);
  const std::string text = describe_divergence(first.trace(), second.trace());
  EXPECT_NE(text.find("part at event 1"), std::string::npos) << text;
}

// Failures carry their seed, and only the seeds that fail are reported.
TEST(Seeds, FailuresNameTheirSeed) {
  const SeedReport report =
      explore_seeds({.count = 10, .fixed_count = true}, [](World& world) -> Result<> {
        if (world.seed() == 4) return fail(Code::internal, "four");
        return {};
      });
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].seed, 4u);
  EXPECT_EQ(report.failures[0].reason, "internal: four");
}

// A failing seed tells its number, its last events and the command that repeats it.
TEST(Seeds, FailureTellsTheStory) {
  ::testing::internal::CaptureStderr();
  const bool passed = run_seeds({.count = 3, .fixed_count = true}, [](World& world) -> Result<> {
    world.note("the last straw");
    if (world.seed() == 2) return fail(Code::internal, "broken");
    return {};
  });
  const std::string story = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(passed);
  EXPECT_NE(story.find("seed 2 failed: internal: broken"), std::string::npos) << story;
  EXPECT_NE(story.find("the last straw"), std::string::npos) << story;
  EXPECT_NE(story.find("--gtest_filter=Seeds.FailureTellsTheStory --seed=2"), std::string::npos)
      << story;
}

// A process that dies in a scenario says in which seed, and after what.
TEST(SeedsDeathTest, DyingProcessNamesTheSeed) {
  const auto die = [] {
    (void)run_seeds({.count = 3, .fixed_count = true}, [](World& world) -> Result<> {
      world.note("the last straw");
      CHECK(world.seed() != 3);
      return {};
    });
  };
  EXPECT_DEATH(die(), "died in seed 3(.|\n)*the last straw(.|\n)*--seed=3");
}

// --seed and --seeds are taken out of the arguments and kept.
TEST(Seeds, ArgumentsAreParsed) {
  const SeedChoice before = seed_choice();
  std::string program = "sim_test", seed = "--seed=42", other = "--other", seeds = "--seeds=7";
  std::string first = "--first=2026";
  char* argv[] = {program.data(), seed.data(), other.data(), seeds.data(), first.data()};
  int argc = 5;
  parse_seed_arguments(argc, argv);
  EXPECT_EQ(argc, 2);
  EXPECT_STREQ(argv[1], "--other");
  EXPECT_EQ(seed_choice().only, 42u);
  EXPECT_EQ(seed_choice().count, 7u);
  EXPECT_EQ(seed_choice().first, 2026u);
  seed_choice() = before;
}

// Other seeds than the usual ones, for scenarios but not for demonstrations.
TEST(Seeds, BeginWhereTold) {
  EXPECT_EQ(seeds_of({.count = 2}, {.first = 2026}), (std::vector<std::uint64_t>{2026, 2027}));
  EXPECT_EQ(seeds_of({.count = 1, .fixed_count = true}, {.first = 2026}),
            (std::vector<std::uint64_t>{1}));
}

// Parts are disjoint and together are the whole; a demonstration is the same in every part.
TEST(Seeds, PartsShareTheSeeds) {
  const SeedRuns runs{.count = 7};
  const auto seeds = [&runs](std::size_t part) {
    return seeds_of(runs, {.part = part, .parts = 3});
  };
  EXPECT_EQ(seeds(0), (std::vector<std::uint64_t>{1, 4, 7}));
  EXPECT_EQ(seeds(1), (std::vector<std::uint64_t>{2, 5}));
  EXPECT_EQ(seeds(2), (std::vector<std::uint64_t>{3, 6}));
  EXPECT_EQ(seeds_of({.count = 2, .fixed_count = true}, {.part = 1, .parts = 3}).size(), 2U);
}

}  // namespace
}  // namespace fairlead::sim
