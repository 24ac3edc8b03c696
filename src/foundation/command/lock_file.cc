#include "foundation/command/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace fairlead::command {
namespace {

std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (pid.ends_with('\n')) pid.pop_back();
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& path, std::string_view what) {
  std::error_code ignored;  // opening tells what is wrong
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(errno_error("open " + path));
  LockFile lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(errno_error("lock " + path));
    return fail(Code::unavailable,
                fmt::format("{} is held by {} (pid {})", path, what, holder_of(fd)));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0)
    return fail(errno_error("write " + path));
  return lock;
}

LockFile::LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LockFile::~LockFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace fairlead::command
