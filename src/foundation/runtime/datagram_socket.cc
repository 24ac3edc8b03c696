#include "foundation/runtime/datagram_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "foundation/runtime/socket_address.h"

namespace fairlead::runtime {
namespace {

constexpr std::size_t kLargestDatagram = 65'535;

// An IPv6 socket reaches IPv4 peers through mapped addresses.
SocketAddress mapped(const SocketAddress& v4) {
  SocketAddress address;
  const auto& from = reinterpret_cast<const sockaddr_in&>(v4.storage);
  auto& to = reinterpret_cast<sockaddr_in6&>(address.storage);
  to.sin6_family = AF_INET6;
  to.sin6_port = from.sin_port;
  to.sin6_addr.s6_addr[10] = to.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&to.sin6_addr.s6_addr[12], &from.sin_addr, 4);
  address.length = sizeof to;
  return address;
}

}  // namespace

Result<std::unique_ptr<DatagramSocket>> EpollDatagramSocket::open(EpollLoop& loop,
                                                                  const Endpoint& at) {
  const std::string what = "listen udp " + at.to_string();
  const std::optional<SocketAddress> address = numeric_address(at);
  if (!address || at.kind != Endpoint::Kind::tcp)
    return fail(Code::invalid, what + ": not an IP address and port");
  const int fd = ::socket(address->family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(errno_error(what));
  if (address->family() == AF_INET6) {
    const int only_v6 = 0;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
  }
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (::bind(fd, address->get(), address->length) != 0 ||
      ::getsockname(fd, bound.get(), &bound.length) != 0) {
    const Error error = errno_error(what);
    ::close(fd);
    return fail(error);
  }
  return std::make_unique<EpollDatagramSocket>(loop, fd, address->family(), endpoint_of(bound));
}

EpollDatagramSocket::EpollDatagramSocket(EpollLoop& loop, int fd, int family, Endpoint local)
    : descriptor_(loop, fd), family_(family), local_(std::move(local)) {}

Task<Result<Datagram>> EpollDatagramSocket::receive() {
  FL_CO_CHECKED(co_await descriptor_.loop().checkpoint());
  buffer_.resize(kLargestDatagram);
  for (;;) {
    FL_CO_CHECKED(co_await descriptor_.readable());
    SocketAddress from;
    from.length = sizeof from.storage;
    const ssize_t n =
        ::recvfrom(descriptor_.fd(), buffer_.data(), buffer_.size(), 0, from.get(), &from.length);
    if (n >= 0)
      co_return Datagram{endpoint_of(from), buffer_.substr(0, static_cast<std::size_t>(n))};
    if (errno == EAGAIN) {
      descriptor_.read_blocked();
    } else if (errno != EINTR && errno != ECONNREFUSED) {
      // ECONNREFUSED is the echo of an earlier send to a closed port: news of one peer only.
      co_return fail(errno_error("receive on udp " + local_.to_string()));
    }
  }
}

Task<Result<>> EpollDatagramSocket::send(const Endpoint& to, std::string_view bytes) {
  std::optional<SocketAddress> address = numeric_address(to);
  if (!address || to.kind != Endpoint::Kind::tcp)
    co_return fail(Code::invalid, "send to udp " + to.to_string() + ": not an IP address and port");
  if (family_ == AF_INET6 && address->family() == AF_INET) address = mapped(*address);
  FL_CO_CHECKED(co_await descriptor_.loop().give_way());
  for (;;) {
    if (descriptor_.closed()) co_return fail(Code::unavailable, "socket closed");
    const ssize_t n = ::sendto(descriptor_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL,
                               address->get(), address->length);
    if (n >= 0) co_return Result<>{};
    if (errno == EAGAIN) {
      descriptor_.write_blocked();
      FL_CO_CHECKED(co_await descriptor_.writable());
    } else if (errno != EINTR && errno != ECONNREFUSED) {
      co_return fail(errno_error("send to udp " + to.to_string()));
    }
  }
}

}  // namespace fairlead::runtime
