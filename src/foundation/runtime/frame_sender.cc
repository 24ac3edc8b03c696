#include "foundation/runtime/frame_sender.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "foundation/runtime/frame_tap.h"

namespace fairlead::runtime {

Result<FrameSender> FrameSender::open(Form form) {
  // Protocol 0: no frame is ever received.
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(errno_error("send frames"));
  // Room for the announcements of many addresses at once; beyond the usual limit for root only.
  const int room = 4 << 20;
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  FrameSender sender(fd, form);
  const int yes = 1;
  if (form == Form::tapped && ::setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0)
    return fail(errno_error("send frames"));
  return sender;
}

FrameSender::FrameSender(FrameSender&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), form_(other.form_) {}

FrameSender::~FrameSender() {
  if (fd_ >= 0) ::close(fd_);
}

Result<> FrameSender::send(std::uint32_t ifindex, std::string_view frame) {
  const std::size_t head = form_ == Form::tapped ? kTapHead : 0;
  if (frame.size() < head + ETH_HLEN) return fail(Code::invalid, "frame without a header");
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(ifindex);
  // What filters of traffic control go by: the ethertype as it is in the frame.
  std::memcpy(&to.sll_protocol, frame.data() + head + 12, sizeof to.sll_protocol);
  for (;;) {
    const ssize_t n = ::sendto(fd_, frame.data(), frame.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (n >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS) return fail(Code::unavailable, "no room for a frame");
    return fail(errno_error("send a frame"));
  }
}

}  // namespace fairlead::runtime
