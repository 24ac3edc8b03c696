#include "sim/world/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

// The name is the sanitizer's.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

#if __has_feature(thread_sanitizer)
// A run that dies tells its story in the handler of SIGABRT, which its own code raised: it may
// allocate memory there, and ThreadSanitizer must let it.
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "report_signal_unsafe=0";
}
#endif

namespace fairlead::sim {
namespace {

// What is left of one run. Its world is gone: two worlds at once could get in each other's way
// where they register something with the process.
struct Outcome {
  Result<> result;
  Trace trace;
  std::uint64_t events = 0;
  Duration virtual_time{0};
};

// The world that runs now, for the last words of a process that dies in it.
World* dying_world = nullptr;

std::function<std::string(std::uint64_t)>& rerun_command() {
  static std::function<std::string(std::uint64_t)> command = [](std::uint64_t seed) {
    return fmt::format("FAIRLEAD_SEED={}", seed);
  };
  return command;
}

void last_words() {
  World* world = std::exchange(dying_world, nullptr);
  if (!world) return;
  fmt::print(stderr, "\nthe process died in seed {}; the last events:\n{}run again: {}\n",
             world->seed(), world->trace().tail(60), rerun_command()(world->seed()));
}

void install_last_words() {
  static const bool installed = [] {
    std::signal(SIGABRT, [](int) {
      last_words();
      std::signal(SIGABRT, SIG_DFL);
      std::abort();
    });
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(last_words);
    return true;
  }();
  (void)installed;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

Outcome run_once(const SeedRuns& runs, std::uint64_t seed, const Scenario& scenario,
                 bool keep_all = false) {
  World world(seed, runs.world);
  if (keep_all) world.trace().keep_all();
  dying_world = &world;
  Outcome outcome;
  outcome.result = scenario(world);
  dying_world = nullptr;
  outcome.trace = world.trace();
  outcome.events = world.events();
  outcome.virtual_time = world.now().time_since_epoch();
  return outcome;
}

// Runs the seed twice more with everything kept, to show where the runs part.
std::string find_divergence(const SeedRuns& runs, std::uint64_t seed, const Scenario& scenario) {
  const Outcome first = run_once(runs, seed, scenario, true);
  const Outcome second = run_once(runs, seed, scenario, true);
  return describe_divergence(first.trace, second.trace);
}

struct SeedStory {
  std::optional<SeedFailure> failure;
  std::string text;
};

SeedStory run_seed(const SeedRuns& runs, std::uint64_t seed, const Scenario& scenario,
                   SeedReport& report) {
  const Outcome once = run_once(runs, seed, scenario);
  ++report.seeds;
  report.events += once.events;
  report.virtual_time += once.virtual_time;
  if (!once.result) {
    const std::string reason = once.result.error().to_string();
    return {.failure = SeedFailure{seed, reason}, .text = once.trace.tail(runs.tail_lines)};
  }
  if (seed % runs.repeat != 0 && !seed_choice().only) return {};
  const Outcome again = run_once(runs, seed, scenario);
  if (again.result && again.trace.digest() == once.trace.digest()) return {};
  const std::string reason =
      again.result ? fmt::format("two runs differ: digest {:016x}, then {:016x}",
                                 once.trace.digest(), again.trace.digest())
                   : "the second run alone failed: " + again.result.error().to_string();
  return {.failure = SeedFailure{seed, reason}, .text = find_divergence(runs, seed, scenario)};
}

}  // namespace

std::vector<std::uint64_t> seeds_of(const SeedRuns& runs, const SeedChoice& told) {
  const SeedChoice choice = runs.fixed_count ? SeedChoice{} : told;
  std::size_t count = choice.only ? 1 : runs.count;
  if (choice.count) count = std::max<std::size_t>(1, *choice.count / runs.cost);
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = choice.part; i < count; i += choice.parts)
    seeds.push_back(choice.only.value_or(choice.first.value_or(runs.first)) + i);
  return seeds;
}

SeedReport explore_seeds(const SeedRuns& runs, const Scenario& scenario) {
  install_last_words();
  SeedReport report;
  for (const std::uint64_t seed : seeds_of(runs, seed_choice())) {
    SeedStory story = run_seed(runs, seed, scenario, report);
    if (story.failure) report.failures.push_back(std::move(*story.failure));
  }
  return report;
}

bool run_seeds(const SeedRuns& runs, const Scenario& scenario) {
  install_last_words();
  SeedReport report;
  for (const std::uint64_t seed : seeds_of(runs, seed_choice())) {
    const SeedStory story = run_seed(runs, seed, scenario, report);
    if (!story.failure) continue;
    fmt::print(stderr, "seed {} failed: {}\n{}run again: {}\n", seed, story.failure->reason,
               story.text, rerun_command()(seed));
    return false;
  }
  return true;
}

SeedChoice& seed_choice() {
  static SeedChoice choice = [] {
    SeedChoice from_environment;
    if (const char* text = std::getenv("FAIRLEAD_SEED")) from_environment.only = parse_number(text);
    if (const char* text = std::getenv("FAIRLEAD_SEEDS"))
      from_environment.count = parse_number(text);
    if (const char* text = std::getenv("FAIRLEAD_FIRST_SEED"))
      from_environment.first = parse_number(text);
    return from_environment;
  }();
  return choice;
}

namespace {

// "1/4": the second of four.
void parse_part(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = parse_number(text.substr(0, slash));
  const auto parts = parse_number(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part >= *parts) return;
  seed_choice().part = *part;
  seed_choice().parts = *parts;
}

}  // namespace

void parse_seed_arguments(int& argc, char** argv) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--seed=")) {
      seed_choice().only = parse_number(argument.substr(7));
    } else if (argument.starts_with("--seeds=")) {
      seed_choice().count = parse_number(argument.substr(8));
    } else if (argument.starts_with("--first=")) {
      seed_choice().first = parse_number(argument.substr(8));
    } else if (argument.starts_with("--part=")) {
      parse_part(argument.substr(7));
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
}

void set_rerun_command(std::function<std::string(std::uint64_t seed)> command) {
  rerun_command() = std::move(command);
}

std::string describe_divergence(const Trace& first, const Trace& second) {
  const auto& a = first.records();
  const auto& b = second.records();
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() && at_b == b.end())
    return first.digest() == second.digest() ? "" : "the runs part in the bytes they carried\n";
  const auto place = static_cast<std::size_t>(at_a - a.begin());
  std::string text = fmt::format("the runs part at event {}; before it:\n", place);
  for (std::size_t i = place - std::min<std::size_t>(place, 20); i < place; ++i)
    text += first.to_string(a[i]) + "\n";
  text += "then in the first run:\n";
  for (std::size_t i = place; i < std::min(a.size(), place + 5); ++i)
    text += first.to_string(a[i]) + "\n";
  text += "and in the second:\n";
  for (std::size_t i = place; i < std::min(b.size(), place + 5); ++i)
    text += second.to_string(b[i]) + "\n";
  return text;
}

}  // namespace fairlead::sim
