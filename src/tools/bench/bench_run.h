// What the `fairlead bench` commands share: from a kubeconfig to a load that was prepared,
// measured, told and cleaned up after.
#pragma once

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"
#include "foundation/wire/json.h"
#include "tools/bench/target.h"

namespace fairlead::bench {

struct BenchCommon {
  std::string kubeconfig;
  bool json = false;
};

template <class Load>
Task<void> stop_on_signal(runtime::EpollRuntime& runtime, Load& load) {
  while (co_await runtime.next_signal()) load.stop();
}

// Figures of a run in which something failed are not to be trusted: the reasons, and exit status 1.
inline Error failed_run(const std::vector<std::string>& problems) {
  std::string text = "the run failed:";
  for (const std::string& problem : problems) text += "\n  " + problem;
  return {Code::unavailable, std::move(text)};
}

// Whatever the load has come to is told and cleaned up, also after a signal.
template <class Load>
Task<Result<>> prepare_and_measure(Load& load) {
  FL_CO_CHECKED(co_await load.prepare());
  co_return co_await load.measure();
}

template <class Load>
Task<Result<>> run_load(runtime::EpollRuntime& runtime, Load& load, bool json) {
  std::vector<std::string> problems;
  runtime::Scope signals(runtime);
  signals.spawn(stop_on_signal(runtime, load));
  Result<> outcome = co_await prepare_and_measure(load);
  if (outcome) {
    problems = load.problems();
    const std::string text = json ? wire::encode_json_pretty(load.json()) + "\n" : load.text();
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
  const Result<> cleaned = co_await load.clean_up();
  if (!cleaned) problems.push_back("clean up: " + cleaned.error().message);
  co_await signals.close();
  if (outcome && !problems.empty()) outcome = fail(failed_run(problems));
  co_return outcome;
}

inline std::string kubeconfig_path(const BenchCommon& flags) {
  if (!flags.kubeconfig.empty()) return flags.kubeconfig;
  const char* path = std::getenv("KUBECONFIG");
  return path ? path : "";
}

// A load over `settings`, from the kubeconfig to the exit status. `make` is given the run's name.
template <class Settings, class Make>
int run_bench(const char* command, const BenchCommon& flags, Result<Settings> settings, Make make) {
  if (!settings) return command::report(command, settings.error());
  const std::string path = kubeconfig_path(flags);
  if (path.empty())
    return command::report(command,
                           {Code::invalid, "--kubeconfig is missing, and KUBECONFIG is not set"});
  runtime::raise_descriptor_limit();
  runtime::EpollRuntime runtime;
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT}); !caught)
    return command::report(command, caught.error());
  const Result<Target> target = load_target(runtime.files(), path);
  if (!target) return command::report(command, target.error());
  char run[32];
  std::snprintf(run, sizeof run, "b%08x", static_cast<unsigned>(runtime.random()));
  auto load = make(runtime, *target, std::move(*settings), run);
  if (!load) return command::report(command, load.error());
  const Result<> outcome = runtime.run_until_complete(run_load(runtime, **load, flags.json));
  if (!outcome) return command::report(command, outcome.error());
  return 0;
}

inline void add_common_flags(CLI::App& command, BenchCommon& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig, "The API to load; default: $KUBECONFIG");
  command.add_flag("--json", flags.json, "The result as JSON");
}

void add_bench_attachments(CLI::App& bench_command, int& exit_status);

}  // namespace fairlead::bench
