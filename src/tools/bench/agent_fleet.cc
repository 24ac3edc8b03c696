#include "tools/bench/agent_fleet.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "tools/bench/fleet_process.h"

namespace fairlead::bench {
namespace {

constexpr std::size_t kMostAgents = 100'000;
constexpr std::size_t kMostProcesses = 64;
constexpr Duration kReadyTime = 300s;
constexpr Duration kStopTime = 60s;

Error failed(const char* what) {
  return {Code::io, std::string(what) + ": " + std::strerror(errno)};
}

Result<std::string> make_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "fairlead-agents-XXXXXX").string();
  if (!::mkdtemp(folder.data())) return fail(failed(folder.c_str()));
  return folder;
}

}  // namespace

Result<AgentFleet> AgentFleet::start(const FleetOptions& options) {
  if (options.agents > kMostAgents) return fail(Code::invalid, "--agents: at most 100000");
  if (options.processes < 1 || options.processes > kMostProcesses)
    return fail(Code::invalid, "--agent-processes: must be between 1 and 64");
  FL_TRY(AgentBoard board, AgentBoard::make(options.attachments, options.processes));
  FL_TRY(std::string folder, make_folder());
  AgentFleet fleet(std::move(board), std::move(folder));
  std::random_device random;
  char prefix[32];
  std::snprintf(prefix, sizeof prefix, "bench-%08x", static_cast<unsigned>(random()));
  for (std::size_t i = 0; i < options.agents; ++i)
    fleet.nodes_.push_back(std::string(prefix) + "-" + std::to_string(i));
  for (std::size_t process = 0; process < options.processes; ++process) {
    const std::size_t begin = options.agents * process / options.processes;
    const std::size_t end = options.agents * (process + 1) / options.processes;
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail(failed("fork"));
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      const FleetShare share{.kubeconfig = options.kubeconfig,
                             .folder = fleet.folder_,
                             .nodes = {fleet.nodes_.begin() + static_cast<std::ptrdiff_t>(begin),
                                       fleet.nodes_.begin() + static_cast<std::ptrdiff_t>(end)},
                             .first = begin,
                             .process = process};
      // Not _exit: a build that counts what runs (scripts/profile) writes it down at the end.
      std::exit(run_fleet_process(share, fleet.board_));
    }
    fleet.processes_.push_back(pid);
  }
  return fleet;
}

AgentFleet::~AgentFleet() {
  for (const pid_t pid : processes_) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

// Forgets those that have ended; fails if one of them gave up.
Result<> AgentFleet::reap() {
  Result<> outcome;
  std::erase_if(processes_, [&](pid_t pid) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != pid) return false;
    if (status == 0) return true;
    std::string why = board_.failure();
    if (why.empty()) why = "a process of agents ended with wait status " + std::to_string(status);
    outcome = fail(Code::unavailable, "agents: " + why);
    return true;
  });
  return outcome;
}

Task<Result<>> AgentFleet::wait_ready(runtime::Runtime& runtime) {
  const Instant limit = runtime.now() + kReadyTime;
  Instant tell = runtime.now() + 1s;
  while (board_.ready() < nodes_.size()) {
    FL_CO_CHECKED(reap());
    if (runtime.now() > limit)
      co_return fail(Code::timeout, std::to_string(board_.ready()) + " of " +
                                        std::to_string(nodes_.size()) +
                                        " agents got ready in time");
    FL_CO_CHECKED(co_await runtime::sleep(runtime, 20ms));
    if (runtime.now() < tell) continue;
    tell += 1s;
    std::fprintf(stderr, "agents: %llu joined, %llu ready\n",
                 static_cast<unsigned long long>(board_.joined()),
                 static_cast<unsigned long long>(board_.ready()));
  }
  co_return Result<>{};
}

Task<Result<>> AgentFleet::stop(runtime::Runtime& runtime) {
  for (const pid_t pid : processes_) ::kill(pid, SIGTERM);
  const Instant limit = runtime.now() + kStopTime;
  Result<> outcome;
  while (!processes_.empty() && runtime.now() < limit) {
    const Result<> reaped = reap();
    if (!reaped) outcome = reaped;
    FL_CO_CHECKED(co_await runtime::sleep(runtime, 20ms));
  }
  if (!processes_.empty()) co_return fail(Code::timeout, "agents did not stop in time");
  co_return outcome;
}

}  // namespace fairlead::bench
