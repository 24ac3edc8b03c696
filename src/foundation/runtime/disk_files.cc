#include "foundation/runtime/disk_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace fairlead::runtime {
namespace {

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Result<> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno_error("write " + path));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> sync_directory(const std::string& path) {
  const OpenFile directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return fail(errno_error("open " + path));
  if (::fsync(directory.get()) != 0) return fail(errno_error("sync " + path));
  return {};
}

Result<> write_temporary(int fd, const std::string& temporary, const std::string& path,
                         std::string_view bytes, int mode) {
  FL_CHECKED(write_all(fd, bytes, temporary));
  if (::fchmod(fd, static_cast<mode_t>(mode)) != 0) return fail(errno_error("chmod " + temporary));
  if (::fsync(fd) != 0) return fail(errno_error("sync " + temporary));
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno_error("rename to " + path));
  return {};
}

}  // namespace

Result<std::string> DiskFiles::read(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("open " + path));
  std::string bytes;
  struct stat status{};
  if (::fstat(file.get(), &status) == 0 && status.st_size > 0)
    bytes.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[16 << 10];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno_error("read " + path));
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

Result<> DiskFiles::write_atomically(const std::string& path, std::string_view bytes, int mode) {
  // The temporary file lies beside its target: rename works only within one file system. It starts
  // readable by nobody else, whatever `mode` will be: keys are written this way too.
  std::string temporary = path + ".tmp-XXXXXX";
  const OpenFile file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("create " + temporary));
  if (Result<> written = write_temporary(file.get(), temporary, path, bytes, mode); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_directory(parent_of(path));
}

Result<> DiskFiles::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return fail(errno_error("remove " + path));
  return sync_directory(parent_of(path));
}

Result<> DiskFiles::make_directories(const std::string& path, int mode) {
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return sync_directory(parent_of(path));
  if (errno == EEXIST) {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
    return fail(errno_error("make directory " + path, ENOTDIR));
  }
  const std::string parent = parent_of(path);
  if (errno != ENOENT || parent == path) return fail(errno_error("make directory " + path));
  FL_CHECKED(make_directories(parent, mode));
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST)
    return fail(errno_error("make directory " + path));
  return sync_directory(parent);
}

Result<std::vector<std::string>> DiskFiles::list(const std::string& directory) {
  DIR* open = ::opendir(directory.c_str());
  if (!open) return fail(errno_error("open " + directory));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(open);
  std::ranges::sort(names);
  return names;
}

}  // namespace fairlead::runtime
