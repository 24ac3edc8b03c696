#include "program/agent_run.h"

#include <memory>
#include <string>
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

Task<void> stop_when_ended(agent::NodeAgent& agent, std::string& ended,
                           command::StopRequest& stop) {
  Result<std::string> feature = co_await agent.wait_ended();
  if (!feature) co_return;
  ended = std::move(*feature);
  stop.ask();
}

}  // namespace

Task<Result<>> run_agent(runtime::Runtime& runtime, agent::AgentOptions options,
                         std::vector<agent::FeaturePlan> features,
                         std::function<void(agent::NodeAgent&)> tell_ready,
                         command::StopRequest& stop,
                         std::function<Task<void>(agent::NodeAgent&)> beside) {
  FL_CO_TRY(const std::unique_ptr<agent::NodeAgent> agent,
            agent::NodeAgent::open(runtime, std::move(options), features));
  register_build_info(agent->metrics());
  runtime::Scope scope(runtime);
  scope.spawn(agent->run());
  if (beside) scope.spawn(beside(*agent));
  scope.spawn(tell_when_ready(*agent, tell_ready));
  std::string ended;
  scope.spawn(stop_when_ended(*agent, ended, stop));
  while (!stop.asked())
    if (Result<> woken = co_await stop.changed().wait(); !woken) break;
  if (stop.asked() && ended.empty()) log::info("stopping", {{"signal", stop.signal()}});
  co_await scope.close();
  if (!ended.empty()) co_return fail(Code::internal, "feature " + ended + " has ended by itself");
  co_return Result<>{};
}

}  // namespace fairlead::program
