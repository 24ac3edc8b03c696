#include "foundation/runtime/netlink_socket.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace fairlead::runtime {
namespace {

constexpr int kRoom = 1 << 20;                   // bytes that wait in the kernel
constexpr std::size_t kLargestMessage = 65'536;  // what the kernel sends at once is smaller

Result<> prepare(int fd, std::uint32_t groups) {
  // Beyond the usual limit for root only; without it the socket has less room.
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kRoom, sizeof kRoom) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kRoom, sizeof kRoom);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(errno_error("listen to the kernel (netlink)"));
  return {};
}

}  // namespace

Result<std::unique_ptr<NetlinkSocket>> NetlinkSocket::open(EpollLoop& loop, std::uint32_t groups) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return fail(errno_error("listen to the kernel (netlink)"));
  if (Result<> ready = prepare(fd, groups); !ready) {
    ::close(fd);
    return fail(ready.error());
  }
  return std::make_unique<NetlinkSocket>(loop, fd);
}

Task<Result<std::string>> NetlinkSocket::receive() {
  buffer_.resize(kLargestMessage);
  for (;;) {
    FL_CO_CHECKED(co_await descriptor_.loop().checkpoint());
    FL_CO_CHECKED(co_await descriptor_.readable());
    sockaddr_nl from{};
    socklen_t length = sizeof from;
    const ssize_t n = ::recvfrom(descriptor_.fd(), buffer_.data(), buffer_.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
    if (n >= 0) {
      if (from.nl_pid != 0) continue;  // not of the kernel
      co_return buffer_.substr(0, static_cast<std::size_t>(n));
    }
    if (errno == ENOBUFS) co_return fail(Code::exhausted, "netlink messages were lost");
    if (errno == EAGAIN) {
      descriptor_.read_blocked();
    } else if (errno != EINTR) {
      co_return fail(errno_error("listen to the kernel (netlink)"));
    }
  }
}

}  // namespace fairlead::runtime
