// Starting processes that outlive this one, and stopping them by their id. For `fairlead lab`.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead::lab {

struct DaemonFiles {
  std::string log;
  std::string pid;
};

// In a session of its own, with nothing on standard input and its output at the end of the log;
// returns when it has written `ready` there. Fails, with the end of the log, if it ends before or
// does not get ready in time.
Result<> start_daemon(const std::vector<std::string>& command, const DaemonFiles& files,
                      const std::string& ready, int seconds);

// The process of that file if it still runs and is the same one, not a later one of the same id.
std::optional<pid_t> running(const std::string& pid_file);

// SIGTERM, and SIGKILL to one that does not end in time. Nothing to do when it does not run.
void stop_daemon(const std::string& pid_file, int seconds);

// SIGKILL, without a word.
void kill_daemon(const std::string& pid_file);

}  // namespace fairlead::lab
