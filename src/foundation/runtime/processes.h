// Processes: running other programs, as a seam of its own beside Runtime, because few components
// need it. EpollProcesses runs real ones; tests and the virtual world put a model in its place.
//
// A program runs in a process group of its own, with nothing inherited: its standard input is
// empty, its signals are as at boot, its environment is a PATH, its folder is /. What it writes is
// kept up to a limit; what it writes beyond is read and dropped, so that it is not held up.
// Nothing that it starts outlives it: also what left its process group or its parent is killed when
// it exits and at its time limit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"

namespace fairlead::runtime {

struct Command {
  std::vector<std::string> arguments;  // the first is the program's path, taken literally
  Duration time_limit = 30s;           // then it is killed with all it started
  std::size_t output_limit = 4096;     // bytes kept of each of its outputs
};

struct ProcessEnd {
  enum class Kind { exited, killed, timed_out };
  Kind kind = Kind::exited;
  int status = 0;  // exited: its exit status; killed: the signal
  std::string output;
  std::string errors;  // what it wrote to standard error
  bool output_cut = false;
  bool errors_cut = false;
  bool left_behind = false;  // something it started may live on: this system lets nobody end it
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Until the program has ended, and all it started. Fails if it could not be started, or with
  // cancelled, and then it was killed.
  virtual Task<Result<ProcessEnd>> run(Command command) = 0;
};

}  // namespace fairlead::runtime
