#include "foundation/runtime/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace fairlead::runtime {
namespace {

// A status is one line.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  return ServiceManager(socket ? socket : "");
}

Result<> ServiceManager::tell(std::string_view state) const {
  if (!present()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path)
    return fail(Code::invalid, "NOTIFY_SOCKET " + socket_ + ": too long for a socket");
  if (socket_.front() != '/' && socket_.front() != '@')
    return fail(Code::invalid, "NOTIFY_SOCKET " + socket_ + ": neither a path nor @name");
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(errno_error("NOTIFY_SOCKET"));
  const ssize_t sent = ::sendto(fd, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  ::close(fd);
  if (sent < 0) return fail(errno_error("NOTIFY_SOCKET " + socket_, error));
  return {};
}

Result<> ServiceManager::ready(std::string_view status) const {
  return tell("READY=1\nSTATUS=" + one_line(status) + "\n");
}

Result<> ServiceManager::stopping(std::string_view status) const {
  return tell("STOPPING=1\nSTATUS=" + one_line(status) + "\n");
}

}  // namespace fairlead::runtime
