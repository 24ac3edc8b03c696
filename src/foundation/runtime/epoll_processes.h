// Real processes: each under a warden (foundation/runtime/warden.h), with a pidfd and three pipes
// on the loop. Nothing blocks, and no SIGCHLD handler is needed.
#pragma once

#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/processes.h"

namespace fairlead::runtime {

class EpollProcesses final : public Processes {
 public:
  // Processes run on the loop of `runtime`, which outlives this.
  explicit EpollProcesses(EpollRuntime& runtime) : runtime_(runtime) {}
  Task<Result<ProcessEnd>> run(Command command) override;

 private:
  EpollRuntime& runtime_;
};

}  // namespace fairlead::runtime
