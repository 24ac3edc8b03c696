// `fairlead agent` from a checked configuration to its end. Only wiring; runs on any Runtime
// (sim/scenarios/programs_test.cc).
#pragma once

#include <functional>
#include <vector>

#include "foundation/command/stop_request.h"
#include "node/agent/node_agent.h"

namespace fairlead::program {

// Until asked to stop, or until a feature ends by itself, which is an error; `tell_ready` is called
// once all features are ready. `beside`, if there is one, runs meanwhile. What the features made
// stays as it is.
Task<Result<>> run_agent(runtime::Runtime& runtime, agent::AgentOptions options,
                         std::vector<agent::FeaturePlan> features,
                         std::function<void(agent::NodeAgent&)> tell_ready,
                         command::StopRequest& stop,
                         std::function<Task<void>(agent::NodeAgent&)> beside = nullptr);

}  // namespace fairlead::program
