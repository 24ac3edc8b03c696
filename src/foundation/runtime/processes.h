// Processes: running other programs, as a seam of its own beside Runtime, because few components
// need it. EpollProcesses runs real ones; tests and the virtual world put a model in its place.
//
// A program runs in a process group of its own and inherits nothing: its standard input is empty,
// its signals have their default actions, its environment is a PATH and what the Command adds, its
// working directory is /.
// Its output is kept up to a limit; the rest is read and dropped, so that the program never blocks
// on it. Nothing that it starts outlives it: when it exits, or at its time limit, all its
// descendants are killed, also those that left its process group or lost their parent.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"

namespace fairlead::runtime {

struct Command {
  std::vector<std::string> arguments;      // the first is the program's path, taken literally
  std::vector<std::string> environment{};  // "NAME=value", beside PATH
  Duration time_limit = 30s;               // then it is killed with all it started
  std::size_t output_limit = 4096;         // bytes kept of each of its outputs
  // Given what comes on standard error as it comes, for programs that run long; it is then not
  // kept. Null: it is kept.
  std::function<void(std::string_view)> on_errors = nullptr;
};

struct ProcessEnd {
  enum class Kind { exited, killed, timed_out };
  Kind kind = Kind::exited;
  int status = 0;  // exited: its exit status; killed: the signal
  std::string output;
  std::string errors;  // what it wrote to standard error
  bool output_cut = false;
  bool errors_cut = false;
  bool left_behind = false;  // a descendant may live on, because the kernel did not let us kill it
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Returns once the program and all its descendants have ended. Fails if it could not be started,
  // and with cancelled after killing it.
  virtual Task<Result<ProcessEnd>> run(Command command) = 0;
};

}  // namespace fairlead::runtime
