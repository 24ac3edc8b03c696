// Processes: running other programs, as a seam of its own beside Runtime, because few components
// need it. EpollProcesses runs real ones; tests and the virtual world put a model in its place.
//
// A program runs in a process group of its own, with nothing inherited: its standard input is
// empty, its signals are as at boot, its environment is a PATH, its folder is /. What it writes is
// kept up to a limit; what it writes beyond is read and dropped, so that it is not held up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/task.h"
#include "runtime/time.h"

namespace fairlead::runtime {

struct Command {
  std::vector<std::string> arguments;  // the first is the program's path, taken literally
  Duration time_limit = 30s;           // then the whole process group is killed
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
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Until the program has ended. Fails if it could not be started, or with cancelled, and then its
  // process group was killed. What a program leaves running behind itself is let be when it exits,
  // and killed with it at the time limit.
  virtual Task<Result<ProcessEnd>> run(Command command) = 0;
};

}  // namespace fairlead::runtime
