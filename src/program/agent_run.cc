#include "program/agent_run.h"

#include <memory>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "program/build_info.h"

namespace fairlead::program {
namespace {

Task<void> tell_when_ready(agent::NodeAgent& agent,
                           const std::function<void(agent::NodeAgent&)>& tell_ready) {
  const Result<> ready = co_await agent.wait_ready();
  if (ready) tell_ready(agent);
}

}  // namespace

Task<Result<>> run_agent(runtime::Runtime& runtime, agent::AgentOptions options,
                         std::vector<agent::FeaturePlan> features,
                         std::function<void(agent::NodeAgent&)> tell_ready,
                         command::StopRequest& stop) {
  FL_CO_TRY(const std::unique_ptr<agent::NodeAgent> agent,
            agent::NodeAgent::open(runtime, std::move(options), features));
  register_build_info(agent->metrics());
  runtime::Scope scope(runtime);
  scope.spawn(agent->run());
  scope.spawn(tell_when_ready(*agent, tell_ready));
  while (!stop.asked())
    if (Result<> woken = co_await stop.changed().wait(); !woken) break;
  if (stop.asked()) log::info("stopping", {{"signal", stop.signal()}});
  co_await scope.close();
  co_return Result<>{};
}

}  // namespace fairlead::program
