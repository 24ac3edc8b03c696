#include "features/networks/node/host_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace fairlead::networks {
namespace {

constexpr const char* kNetworkNamespace = "/proc/thread-self/ns/net";
constexpr off_t kMostFabrics = 256;

// A byte of its own for each namespace (an inode number of 32 bits) and fabric (its first letter).
Result<struct flock> byte_of(const std::string& fabric) {
  struct stat status{};
  if (::stat(kNetworkNamespace, &status) != 0) return fail(errno_error(kNetworkNamespace));
  const off_t kind = static_cast<unsigned char>(fabric.front());
  struct flock byte{};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(status.st_ino) * kMostFabrics + kind;
  byte.l_len = 1;
  return byte;
}

}  // namespace

Result<HostClaim> HostClaim::take(const std::string& path, const std::string& fabric) {
  FL_TRY(struct flock byte, byte_of(fabric));
  std::error_code ignored;  // opening tells what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(errno_error("open " + path));
  HostClaim claim(fd);
  if (::fcntl(fd, F_SETLK, &byte) == 0) return claim;
  if (errno != EAGAIN && errno != EACCES) return fail(errno_error("lock " + path));
  const bool told = ::fcntl(fd, F_GETLK, &byte) == 0 && byte.l_type != F_UNLCK && byte.l_pid > 0;
  return fail(Code::unavailable,
              fmt::format("another agent{} carries fabric {} on this host",
                          told ? fmt::format(" (pid {})", byte.l_pid) : std::string(), fabric));
}

HostClaim::HostClaim(HostClaim&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

HostClaim::~HostClaim() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace fairlead::networks
