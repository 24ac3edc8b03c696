// ConfigKeeper: reads the agent's file again, at SIGHUP and when it has changed, and has the
// features follow it. A file that is wrong is refused whole, with its place in the log, and what
// runs stays.
#pragma once

#include <string>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "program/agent_config.h"

namespace fairlead::program {

class ConfigKeeper {
 public:
  // `flags` as the agent was started with; they go on overriding the file.
  ConfigKeeper(runtime::Runtime& runtime, AgentFlags flags);

  // At once, whether or not it has changed.
  void ask();
  // Until cancelled.
  Task<void> keep(agent::NodeAgent& agent);

 private:
  void read_again(agent::NodeAgent& agent);

  runtime::Runtime& runtime_;
  AgentFlags flags_;
  std::string text_;  // of the file, as it was read last
  bool asked_ = false;
  runtime::Signal asked_signal_;
};

}  // namespace fairlead::program
