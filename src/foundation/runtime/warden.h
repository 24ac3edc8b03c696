// The warden: a small process between this one and a program that it runs, so that the program ends
// with everything it started. What leaves its process group (setsid) or outlives its parent (a
// daemon) becomes the warden's child, because the warden is a child subreaper, and is killed like
// the rest: at the latest when the program exits, when the warden is told to stop, or when the
// thread that started it ends.
//
// Why a process: only the kernel knows a program's descendants, and it tells them from those of
// other programs only by a separate subreaper. A PID namespace would do, too, but process ids would
// mean something else in it (`ip link set NAME netns PID`); a cgroup needs a writable cgroup tree.
//
// Used by EpollProcesses only.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead::runtime {

// A warden's report, its last write to the pipe.
struct WardenReport {
  int start_error = 0;       // errno, if the program could not be started; then the rest is empty
  int status = 0;            // of the program, as waitpid tells it
  bool left_behind = false;  // descendants could not be listed or killed
};

// The program has `environment` ("NAME=value") beside a PATH. Its outputs go to these descriptors;
// `report` is a pipe for the WardenReport. Returns the process id of the warden, a child of this
// process; stop_warden() makes it kill the program.
Result<pid_t> start_warden(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int output, int errors,
                           int report);
void stop_warden(pid_t warden);

}  // namespace fairlead::runtime
