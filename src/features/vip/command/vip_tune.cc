#include "features/vip/command/vip_tune.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "features/vip/control/messages.h"
#include "features/vip/election/tuning.h"
#include "foundation/base/duration_text.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "node/agent/admin_client.h"
#include "node/agent/explanation.h"

namespace fairlead::vip {
namespace {

constexpr const char* kCommand = "fairlead vip tune";
constexpr Duration kRound = 2s;  // of one question to the agent
constexpr Duration kLongest = 10min;

struct TuneFlags {
  std::string admin_socket;
  std::string duration = "10s";
  bool json = false;
};

double milliseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

Result<Measure> measure_once(runtime::EpollRuntime& runtime, const std::string& socket) {
  FL_TRY(const std::string text,
         runtime.run_until_complete(agent::ask_agent(runtime, socket, "/vip/measure", "")));
  return parse_control<Measure>(text);
}

// Round by round, telling how far it is, on a terminal only.
Result<Measure> measure(const TuneFlags& flags) {
  Result<Duration> time = parse_duration(flags.duration);
  if (!time) return fail(std::move(time).error().context("--duration"));
  if (*time < kRound || *time > kLongest)
    return fail(Code::invalid, "--duration: must be between 2s and 10m");
  runtime::EpollRuntime runtime({.blocking_threads = 1});
  FL_TRY(const std::string socket, agent::choose_admin_socket(runtime.files(), flags.admin_socket));
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto rounds = static_cast<int>(*time / kRound);
  Measure all;
  for (int round = 1; round <= rounds; ++round) {
    FL_TRY(const Measure one, measure_once(runtime, socket));
    all = together(all, one);
    if (terminal) std::fprintf(stderr, "\rmeasuring: %d of %d seconds", round * 2, rounds * 2);
  }
  if (terminal) std::fprintf(stderr, "\n");
  return all;
}

void print_json(const Measure& all, const Proposal& proposal) {
  JsonArray reasons;
  for (const std::string& reason : proposal.reasons) reasons.emplace_back(reason);
  const Timing& timing = proposal.timing;
  std::printf("%s\n",
              wire::encode_json_pretty(
                  JsonObject{{"measured", resource::encode(all)},
                             {"proposed", JsonObject{{"leaseMilliseconds", timing.lease / 1ms},
                                                     {"renewMilliseconds", timing.renew / 1ms},
                                                     {"marginMilliseconds", timing.margin / 1ms}}},
                             {"leaseInForceIsLongEnough", proposal.in_force_is_long_enough},
                             {"reasons", std::move(reasons)}})
                  .c_str());
}

void print_text(const Measure& all, const Proposal& proposal) {
  for (const PeerMeasure& one : all.peers)
    std::printf(
        "%s: %lld of %lld heartbeats answered, round trip %.2f ms on average, %.2f ms at most\n",
        agent::printable(one.peer).c_str(), static_cast<long long>(one.answered),
        static_cast<long long>(one.sent),
        one.answered == 0 ? 0.0 : milliseconds(one.total / one.answered),
        milliseconds(one.longest));
  std::printf("this machine: pauses of at most %.2f ms; a synced write took at most %.2f ms\n\n",
              milliseconds(all.pause), milliseconds(all.write));
  for (const std::string& reason : proposal.reasons)
    std::printf("- %s\n", agent::printable(reason).c_str());
  std::printf("\nelection:\n  lease: %lldms\n  renew: %lldms\n  margin: %lldms\n",
              static_cast<long long>(proposal.timing.lease / 1ms),
              static_cast<long long>(proposal.timing.renew / 1ms),
              static_cast<long long>(proposal.timing.margin / 1ms));
}

int tune(const TuneFlags& flags) {
  const Result<Measure> all = measure(flags);
  if (!all) return command::report(kCommand, all.error());
  const Result<Proposal> proposal = propose_timing(measured_of(*all));
  if (!proposal) return command::report(kCommand, proposal.error());
  if (flags.json)
    print_json(*all, *proposal);
  else
    print_text(*all, *proposal);
  return command::kDone;
}

}  // namespace

void add_tune(CLI::App& vip, int& exit_status) {
  CLI::App* command = vip.add_subcommand(
      "tune",
      "Measures loss, round trips and pauses between this node and its peers, and the disk, and "
      "proposes times for the election. Changes nothing; virtual IPs stay where they are.");
  auto flags = std::make_shared<TuneFlags>();
  command->add_option("--duration", flags->duration, "How long to measure")->capture_default_str();
  command->add_flag("--json", flags->json, "For programs");
  command->add_option("--admin-socket", flags->admin_socket,
                      "Socket of the agent to ask; default: the one in /run/fairlead");
  command->footer(
      "Run it on each node while the machines do what they usually do; take the longest of the "
      "leases.\n\nExamples:\n  fairlead vip tune --duration 1m");
  command->callback([flags, &exit_status] { exit_status = tune(*flags); });
}

}  // namespace fairlead::vip
