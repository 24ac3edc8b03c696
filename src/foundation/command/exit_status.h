// What `fairlead` ends with, whatever the command: the one table, which docs/operations.md repeats.
// `fairlead lab exec` ends with what its command ended with.
#pragma once

#include <cstdio>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::command {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;       // what was asked for could not be done
inline constexpr int kWrongUsage = 2;   // the command line is wrong; trying again is of no use
inline constexpr int kCannotRun = 126;  // `lab exec`: the command could not be run

// Errors about what was typed are `invalid` and begin with the flag.
inline int exit_status_of(const Error& error) {
  return error.code == Code::invalid && error.message.starts_with("--") ? kWrongUsage : kFailed;
}

// REQUIRES: `command` is how it was called ("fairlead lab"). Says on standard error what is wrong.
inline int report(std::string_view command, const Error& error) {
  const int status = exit_status_of(error);
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(command.size()), command.data(),
               error.message.c_str());
  if (status == kWrongUsage)
    std::fprintf(stderr, "See %.*s --help.\n", static_cast<int>(command.size()), command.data());
  return status;
}

}  // namespace fairlead::command
