// Running a scenario over many seeds, each twice, and telling the whole story when one fails.
//
//   Result<> cut_and_heal(World& world) { … }
//   TEST(Lease, SurvivesCuts) { EXPECT_TRUE(run_seeds({.count = 200}, cut_and_heal)); }
//
// A seed fails when the scenario returns an error, and when its two runs differ: then the runner
// prints the seed, the end of the trace (or the place where the runs part), and how to run it
// again. A crash of the process (CHECK, sanitizer) prints the same.
//
// --seed=N or FAIRLEAD_SEED runs that one only; --seeds=COUNT or FAIRLEAD_SEEDS scales every
// scenario to that many (`make sim`), from --first=N or FAIRLEAD_FIRST_SEED on (1); --part=K/N runs
// every Nth seed, from the Kth on, so that N processes share the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "sim/world/world.h"

namespace fairlead::sim {

using Scenario = std::function<Result<>(World&)>;

struct SeedRuns {
  std::size_t count = 100;
  std::uint64_t first = 1;
  std::size_t tail_lines = 60;
  WorldSettings world;
  std::size_t cost = 1;      // a slow scenario: runs COUNT / cost seeds when told COUNT …
  std::size_t repeat = 1;    // … and only every so manieth of them twice
  bool fixed_count = false;  // for demonstrations: always exactly these seeds
};

struct SeedFailure {
  std::uint64_t seed = 0;
  std::string reason;
};

struct SeedReport {
  std::size_t seeds = 0;
  std::uint64_t events = 0;
  Duration virtual_time{0};
  std::vector<SeedFailure> failures;
  bool passed() const { return failures.empty(); }
};

// Runs every seed and reports all failures, silently; for demonstrations and tools.
SeedReport explore_seeds(const SeedRuns& runs, const Scenario& scenario);

// True if all is well; otherwise the story of the first failing seed is on standard error.
bool run_seeds(const SeedRuns& runs, const Scenario& scenario);

// What the command line and the environment say.
struct SeedChoice {
  std::size_t part = 0;  // of `parts`
  std::size_t parts = 1;
  std::optional<std::uint64_t> only;
  std::optional<std::size_t> count;
  std::optional<std::uint64_t> first;
};
SeedChoice& seed_choice();
// Takes --seed, --seeds, --first and --part out of the arguments; what does not parse counts as not
// said.
void parse_seed_arguments(int& argc, char** argv);
// The seeds that a scenario runs, by that choice.
std::vector<std::uint64_t> seeds_of(const SeedRuns& runs, const SeedChoice& choice);
// The command that runs one seed of the present test again; the test program's main knows it.
void set_rerun_command(std::function<std::string(std::uint64_t seed)> command);

// Where two traces of one seed part, in words; empty when they do not.
std::string describe_divergence(const Trace& first, const Trace& second);

}  // namespace fairlead::sim
