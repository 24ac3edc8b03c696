#include "foundation/runtime/frame_tap.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace fairlead::runtime {
namespace {

constexpr std::size_t kLargestFrame = 65'536 + 64;  // as the kernel puts them together
constexpr int kRoom = 4 << 20;                      // bytes that wait in the kernel
constexpr int kIgnoreOutgoing = 23;                 // PACKET_IGNORE_OUTGOING

Result<> prepare(int fd, std::uint32_t ifindex, std::span<const sock_filter> filter) {
  sock_fprog program{static_cast<unsigned short>(filter.size()),
                     const_cast<sock_filter*>(filter.data())};
  const int yes = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    return fail(errno_error("filter of frames"));
  if (::setsockopt(fd, SOL_PACKET, kIgnoreOutgoing, &yes, sizeof yes) != 0 ||
      ::setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0)
    return fail(errno_error("tap frames"));
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kRoom, sizeof kRoom) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kRoom, sizeof kRoom);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);  // others come after traffic control
  address.sll_ifindex = static_cast<int>(ifindex);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(errno_error("tap frames"));
  return {};
}

}  // namespace

Result<std::unique_ptr<FrameTap>> FrameTap::open(EpollRuntime& runtime, std::uint32_t ifindex,
                                                 std::span<const sock_filter> filter) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(errno_error("tap frames"));
  if (Result<> ready = prepare(fd, ifindex, filter); !ready) {
    ::close(fd);
    return fail(ready.error());
  }
  return std::make_unique<FrameTap>(runtime, fd);
}

FrameTap::~FrameTap() {
  const int last = descriptor_.closed() ? -1 : ::dup(descriptor_.fd());
  descriptor_.close();
  if (last >= 0) runtime_.start_blocking({.work = [last] { ::close(last); }, .done = [] {}});
}

Task<Result<std::string>> FrameTap::receive() {
  buffer_.resize(kLargestFrame);
  for (;;) {
    FL_CO_CHECKED(co_await descriptor_.loop().checkpoint());
    FL_CO_CHECKED(co_await descriptor_.readable());
    const ssize_t n = ::recv(descriptor_.fd(), buffer_.data(), buffer_.size(), 0);
    if (n >= 0) co_return buffer_.substr(0, static_cast<std::size_t>(n));
    if (errno == EAGAIN) {
      descriptor_.read_blocked();
    } else if (errno != EINTR) {
      co_return fail(errno_error("tap frames"));
    }
  }
}

}  // namespace fairlead::runtime
