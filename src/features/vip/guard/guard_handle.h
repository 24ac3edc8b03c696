// GuardHandle: the agent's hold on the guard that it started. When it is closed, or when the agent
// dies, the guard lets the engine give its VIPs up in order, and ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

class GuardHandle {
 public:
  // `command` is its command line, with the program's path first. Its output goes where this
  // process's does.
  static Result<GuardHandle> start(std::vector<std::string> command);
  GuardHandle(GuardHandle&& other) noexcept;
  GuardHandle& operator=(GuardHandle&&) = delete;
  ~GuardHandle();

  // Asks it to end. It takes the margin of the election, and a little more.
  void close();
  // True once it has ended; never waits.
  bool ended();
  // Blocks until it has, or for so long.
  void wait(Duration limit);

 private:
  GuardHandle(pid_t guard, int lifeline) : guard_(guard), lifeline_(lifeline) {}
  pid_t guard_;
  int lifeline_;
};

}  // namespace fairlead::vip
