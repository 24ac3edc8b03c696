#include "api/store/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace fairlead::store {
namespace {

std::string parent_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::absolute(path).parent_path();
  return parent.string();
}

// Makes the folder and all above it, and syncs the parents of those it made.
Result<> make_directories(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return {};
  const std::string parent = parent_of(path);
  if (parent != path) {
    FL_CHECKED(make_directories(parent));
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(errno_error("make " + path));
  return sync_directory(parent);
}

std::string holder_of(int lock) {
  char text[32] = {};
  if (::pread(lock, text, sizeof text - 1, 0) <= 0) return "unknown";
  int pid = 0;
  const auto parsed = std::from_chars(text, text + sizeof text, pid);
  return parsed.ec == std::errc() ? std::to_string(pid) : "unknown";
}

}  // namespace

Result<DataDirectory> DataDirectory::open(const std::string& path) {
  FL_CHECKED(make_directories(std::filesystem::absolute(path).lexically_normal().string()));
  const std::string name = path + "/fairlead.lock";
  const int lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return fail(errno_error("open " + name));
  DataDirectory directory(path, lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(errno_error("lock " + name));
    return fail(Code::unavailable, fmt::format("{} is in use by another fairlead server (pid {})",
                                               path, holder_of(lock)));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock, 0) != 0 || ::pwrite(lock, pid.data(), pid.size(), 0) < 0)
    return fail(errno_error("write " + name));
  return directory;
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

std::uint64_t free_bytes(const std::string& path) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  return error ? std::numeric_limits<std::uint64_t>::max() : space.available;
}

Result<> sync_directory(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail(errno_error("open " + path));
  const int status = ::fsync(directory);
  const int error_number = errno;
  ::close(directory);
  if (status != 0) return fail(errno_error("sync " + path, error_number));
  return {};
}

}  // namespace fairlead::store
