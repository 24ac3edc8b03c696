#include "foundation/runtime/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace fairlead::runtime {
namespace {

constexpr std::size_t kLargestFrame = 65'536;  // jumbo frames and coalesced ones

Result<> bind_to(int fd, const std::string& interface, std::uint16_t ethertype) {
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return fail(errno_error("packets on " + interface));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = static_cast<int>(index);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(errno_error("packets on " + interface));
  if (ethertype == ETH_P_IPV6) {
    // Neighbour solicitations for addresses this host does not have go to multicast groups it has
    // not joined.
    packet_mreq request{};
    request.mr_ifindex = static_cast<int>(index);
    request.mr_type = PACKET_MR_ALLMULTI;
    if (::setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) != 0)
      return fail(errno_error("multicast on " + interface));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<PacketSocket>> EpollPacketSocket::open(EpollLoop& loop,
                                                              const std::string& interface,
                                                              std::uint16_t ethertype) {
  // Protocol 0 until it is bound: nothing of other interfaces is queued in between.
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(errno_error("packets on " + interface));
  if (Result<> bound = bind_to(fd, interface, ethertype); !bound) {
    ::close(fd);
    return fail(bound.error());
  }
  return std::make_unique<EpollPacketSocket>(loop, fd, interface);
}

Task<Result<std::string>> EpollPacketSocket::receive() {
  buffer_.resize(kLargestFrame);
  for (;;) {
    FL_CO_CHECKED(co_await descriptor_.loop().checkpoint());
    FL_CO_CHECKED(co_await descriptor_.readable());
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    const ssize_t n = ::recvfrom(descriptor_.fd(), buffer_.data(), buffer_.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
    if (n >= 0) {
      if (from.sll_pkttype == PACKET_OUTGOING) continue;  // our own
      co_return buffer_.substr(0, static_cast<std::size_t>(n));
    }
    if (errno == EAGAIN) {
      descriptor_.read_blocked();
    } else if (errno != EINTR) {
      co_return fail(errno_error("receive on " + interface_));
    }
  }
}

Task<Result<>> EpollPacketSocket::send(std::string_view frame) {
  FL_CO_CHECKED(co_await descriptor_.loop().give_way());
  for (;;) {
    if (descriptor_.closed()) co_return fail(Code::unavailable, "socket closed");
    const ssize_t n = ::send(descriptor_.fd(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (n >= 0) co_return Result<>{};
    if (errno == EAGAIN) {
      descriptor_.write_blocked();
      FL_CO_CHECKED(co_await descriptor_.writable());
    } else if (errno != EINTR) {
      co_return fail(errno_error("send on " + interface_));
    }
  }
}

}  // namespace fairlead::runtime
