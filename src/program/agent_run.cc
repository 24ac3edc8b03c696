#include "program/agent_run.h"

#include <memory>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "node/join/join_client.h"

namespace fairlead::program {
namespace {

constexpr Duration kRenewalInterval = 1h;
constexpr Duration kGiveBackInterval = 5s;  // at least that often
constexpr Duration kAfterAudit = 300ms;

Task<void> tell_when_ready(AgentProgram& program, const AgentSurroundings& surroundings) {
  const Result<> ready = co_await program.agent().wait_ready();
  if (ready) surroundings.tell_ready(program);
}

Task<Result<>> notified(runtime::Signal& signal) { co_return co_await signal.wait(); }

// An agent is on every node, and mostly has nothing to do but to look whether all is well.
Task<void> stay_small(runtime::Runtime& runtime, runtime::Signal& audited,
                      const AgentSurroundings& surroundings) {
  for (;;) {
    Task<Result<>> waiting = notified(audited);
    const Result<> audit =
        co_await runtime::with_timeout(runtime, kGiveBackInterval, std::move(waiting));
    if (!audit && audit.error().code != Code::timeout) co_return;
    // What follows an audit is over then: statuses, reports.
    if (Result<> slept = co_await runtime::sleep(runtime, kAfterAudit); !slept) co_return;
    surroundings.give_back_memory();
  }
}

// A joined node's certificate is renewed when it is due. Files are read again in any case: somebody
// else may renew those that --kubeconfig names.
Task<void> keep_credentials(runtime::Runtime& runtime, AgentProgram& program, AgentFlags flags) {
  for (;;) {
    if (Result<> slept = co_await runtime::sleep(runtime, kRenewalInterval); !slept) co_return;
    if (!flags.join_dir.empty()) {
      join::JoinClient client(runtime, {.folder = flags.join_dir}, [](const std::string& text) {
        log::info("renewal", {{"told", text}});
      });
      const Result<join::JoinOutcome> outcome = co_await client.run();
      if (!outcome)
        log::warning("certificate not renewed", {{"error", outcome.error().to_string()}});
    }
    const Result<AgentConfig> config = check_flags(flags, runtime.files());
    if (config) {
      program.client().use_credentials(config->api);
    } else {
      log::warning("credentials not read again", {{"error", config.error().to_string()}});
    }
  }
}

}  // namespace

Task<Result<>> run_agent(runtime::Runtime& runtime, AgentConfig config, AgentFlags flags,
                         AgentSurroundings surroundings, command::StopRequest& stop) {
  runtime::Signal audited;
  // What else the agent does, heartbeats above all, and an audit need not be in memory together.
  config.agent.make_room = surroundings.give_back_memory;
  config.agent.audited = [&audited] { audited.notify(); };
  FL_CO_TRY(
      const std::unique_ptr<AgentProgram> program,
      AgentProgram::open(runtime, surroundings.processes, surroundings.fabric, std::move(config)));
  runtime::Scope scope(runtime);
  scope.spawn(program->run());
  scope.spawn(tell_when_ready(*program, surroundings));
  scope.spawn(stay_small(runtime, audited, surroundings));
  scope.spawn(keep_credentials(runtime, *program, flags));
  while (!stop.asked())
    if (Result<> woken = co_await stop.changed().wait(); !woken) break;
  if (stop.asked()) log::info("stopping", {{"signal", stop.signal()}});
  co_await scope.close();
  co_return Result<>{};
}

}  // namespace fairlead::program
