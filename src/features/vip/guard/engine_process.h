// The engine as a process, child of the guard: opens the kernel's fence and this host's interfaces,
// and runs an EngineService until SIGTERM.
#pragma once

#include <string>

namespace fairlead::vip {

struct EngineProcessOptions {
  std::string state;  // folder
  int note_fd = -1;   // the pipe to the guard; -1: there is none
  int guard = -1;     // its process id; this process ends with it. -1: there is none
};
// Returns the exit status.
int run_engine(const EngineProcessOptions& options);

}  // namespace fairlead::vip
