#include "node/fabric/link_watch.h"

#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace fairlead::fabric {

void LinkWatch::Close::operator()(nl_sock* socket) const { nl_socket_free(socket); }

LinkWatch::LinkWatch(std::unique_ptr<nl_sock, Close> socket, int wakeup)
    : socket_(std::move(socket)), wakeup_(wakeup) {
  nl_socket_modify_cb(
      socket_.get(), NL_CB_VALID, NL_CB_CUSTOM,
      [](nl_msg* message, void* self) {
        static_cast<LinkWatch*>(self)->look_at(message);
        return static_cast<int>(NL_OK);
      },
      this);
}

LinkWatch::~LinkWatch() { ::close(wakeup_); }

Result<std::shared_ptr<LinkWatch>> LinkWatch::open() {
  std::unique_ptr<nl_sock, Close> socket(nl_socket_alloc());
  if (!socket) return fail(Code::io, "netlink: no memory");
  nl_socket_disable_seq_check(socket.get());
  int error = nl_connect(socket.get(), NETLINK_ROUTE);
  if (error == 0)
    error = nl_socket_add_memberships(socket.get(), RTNLGRP_LINK, RTNLGRP_TC, RTNLGRP_NONE);
  if (error == 0) error = nl_socket_set_nonblocking(socket.get());
  if (error < 0) return fail(Code::io, std::string("watch interfaces: ") + nl_geterror(error));
  nl_socket_set_buffer_size(socket.get(), 1 << 20, 0);
  const int wakeup = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wakeup < 0) return fail(errno_error("eventfd"));
  return std::shared_ptr<LinkWatch>(new LinkWatch(std::move(socket), wakeup));
}

void LinkWatch::add(std::uint32_t ifindex) {
  const std::lock_guard lock(mutex_);
  watched_.insert(ifindex);
}

void LinkWatch::forget(std::uint32_t ifindex) {
  const std::lock_guard lock(mutex_);
  watched_.erase(ifindex);
}

void LinkWatch::set_underlay(std::uint32_t ifindex, std::uint32_t mtu) {
  const std::lock_guard lock(mutex_);
  underlay_ = ifindex;
  underlay_mtu_ = mtu;
}

void LinkWatch::look_at(nl_msg* message) {
  nlmsghdr* header = nlmsg_hdr(message);
  int ifindex = 0;
  switch (header->nlmsg_type) {
    case RTM_NEWLINK: {
      const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
      if (!(info->ifi_flags & IFF_UP)) ifindex = info->ifi_index;
      const nlattr* mtu = nlmsg_find_attr(header, sizeof(ifinfomsg), IFLA_MTU);
      const std::lock_guard lock(mutex_);
      if (mtu && static_cast<std::uint32_t>(info->ifi_index) == underlay_ &&
          nla_get_u32(mtu) != underlay_mtu_)
        disturbed_ = true;
      break;
    }
    case RTM_DELLINK:
      ifindex = static_cast<const ifinfomsg*>(nlmsg_data(header))->ifi_index;
      break;
    case RTM_DELQDISC:
    case RTM_DELTFILTER:
      ifindex = static_cast<const tcmsg*>(nlmsg_data(header))->tcm_ifindex;
      break;
    default:
      break;
  }
  const std::lock_guard lock(mutex_);
  if (ifindex > 0 && watched_.contains(static_cast<std::uint32_t>(ifindex))) disturbed_ = true;
}

Result<bool> LinkWatch::wait() {
  for (;;) {
    pollfd descriptors[] = {{.fd = nl_socket_get_fd(socket_.get()), .events = POLLIN, .revents = 0},
                            {.fd = wakeup_, .events = POLLIN, .revents = 0}};
    if (::poll(descriptors, 2, -1) < 0 && errno != EINTR) return fail(errno_error("poll"));
    if (descriptors[1].revents) return false;
    if (!descriptors[0].revents) continue;
    const int error = nl_recvmsgs_default(socket_.get());
    // More was said than there was room for: anything may have happened.
    if (error == -NLE_NOMEM || error == -NLE_DUMP_INTR) return true;
    if (error < 0 && error != -NLE_AGAIN && error != -NLE_INTR)
      return fail(Code::io, std::string("watch interfaces: ") + nl_geterror(error));
    if (std::exchange(disturbed_, false)) return true;
  }
}

void LinkWatch::stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wakeup_, &one, sizeof(one));
}

}  // namespace fairlead::fabric
