// The guard as a process: carries out GuardPlan with a real engine, a real fence and real time. One
// thread, no runtime: it must work when everything else has failed.
//
// It ends when its standard input is closed (the agent holds the other end) or at SIGTERM, after
// the engine has. An engine whose guard dies is asked to end by the kernel.
#pragma once

#include <string>
#include <vector>

namespace fairlead::vip {

struct GuardOptions {
  std::string state;                // folder; guard.lock in it keeps a second guard away
  std::vector<std::string> engine;  // command line; gets "--note-fd N"
};
// Returns the exit status.
int run_guard(const GuardOptions& options);

}  // namespace fairlead::vip
