// `fairlead agent` from a checked configuration to its end: the agent, its credentials kept
// current, its memory given back. Only wiring; runs on any Runtime
// (sim/scenarios/programs_test.cc).
#pragma once

#include <functional>
#include <string>

#include "foundation/command/stop_request.h"
#include "program/agent_config.h"
#include "program/agent_program.h"

namespace fairlead::program {

// What an agent has from where it runs, besides the Runtime. All of it outlives the agent.
struct AgentSurroundings {
  runtime::Processes& processes;
  fabric::Fabric& fabric;
  // Everything that concerns the node is known and carried.
  std::function<void(AgentProgram&)> tell_ready;
  // Gives unused memory back to the system; called now and then.
  std::function<void()> give_back_memory;
};

// Until asked to stop. The fabric stays as it is.
Task<Result<>> run_agent(runtime::Runtime& runtime, AgentConfig config, AgentFlags flags,
                         AgentSurroundings surroundings, command::StopRequest& stop);

}  // namespace fairlead::program
