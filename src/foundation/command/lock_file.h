// LockFile: a file that one process at a time holds, for what must not run twice on a machine.
// Released when the process ends, however it ends.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::command {

class LockFile {
 public:
  // Makes the file, and its folder, if need be. Fails with unavailable if another process holds it:
  // "<path> is held by <what> (pid N)".
  static Result<LockFile> take(const std::string& path, std::string_view what);
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

 private:
  explicit LockFile(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace fairlead::command
