#include "features/vip/host/route_socket.h"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <string>
#include <utility>
#include <vector>

namespace fairlead::vip {
namespace {

constexpr unsigned char kInet = 2, kInet6 = 10;  // AF_INET, AF_INET6

struct Free {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, Free>;

Error netlink_error(int error, const std::string& what) {
  Code code = Code::io;
  if (error == -NLE_EXIST) code = Code::already_exists;
  if (error == -NLE_OBJ_NOTFOUND || error == -NLE_NODEV || error == -NLE_NOADDR)
    code = Code::not_found;
  if (error == -NLE_PERM || error == -NLE_NOACCESS) code = Code::forbidden;
  return {code, what + ": " + nl_geterror(error)};
}

unsigned char family_of(const Ip& ip) { return ip.is_v4() ? kInet : kInet6; }

void put_ip(nl_msg* message, int attribute, const Ip& ip) {
  const std::size_t skip = ip.is_v4() ? 12 : 0;
  nla_put(message, attribute, static_cast<int>(16 - skip), ip.bytes().data() + skip);
}

constexpr std::uint32_t kForever = 0xffffffff;

Message address_message(const HostAddress& address, int type, int flags) {
  Message message(nlmsg_alloc_simple(type, flags));
  ifaddrmsg head{};
  head.ifa_family = family_of(address.ip);
  head.ifa_prefixlen = static_cast<unsigned char>(address.prefix);
  head.ifa_scope = address.ip.is_v4() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  head.ifa_index = address.ifindex;
  nlmsg_append(message.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  put_ip(message.get(), IFA_LOCAL, address.ip);
  put_ip(message.get(), IFA_ADDRESS, address.ip);
  return message;
}

struct Manner {
  int message_flags = 0;
  std::uint32_t address_flags = 0;
  std::uint8_t protocol = 0;
  std::uint32_t seconds = kForever;
};
Message addition(const HostAddress& address, const Manner& manner) {
  Message message = address_message(address, RTM_NEWADDR, NLM_F_CREATE | manner.message_flags);
  ifa_cacheinfo times{};
  times.ifa_prefered = 0;
  times.ifa_valid = manner.seconds;
  nla_put(message.get(), IFA_CACHEINFO, sizeof(times), &times);
  nla_put_u32(message.get(), IFA_FLAGS, IFA_F_NODAD | manner.address_flags);
  nla_put_u8(message.get(), IFA_PROTO, manner.protocol);
  return message;
}

std::string text_of(const HostAddress& address) {
  return address.ip.to_string() + "/" + std::to_string(address.prefix);
}

// Sends a request and gives every message of the answer to `take`.
template <class Take>
Result<> exchange(nl_sock* socket, nl_msg* message, const std::string& what, Take take) {
  if (const int sent = nl_send_auto(socket, message); sent < 0)
    return fail(netlink_error(sent, what));
  nl_cb* callbacks = nl_cb_alloc(NL_CB_DEFAULT);
  nl_cb_set(
      callbacks, NL_CB_VALID, NL_CB_CUSTOM,
      [](nl_msg* answer, void* context) {
        (*static_cast<Take*>(context))(nlmsg_hdr(answer));
        return static_cast<int>(NL_OK);
      },
      &take);
  const int received = nl_recvmsgs(socket, callbacks);
  nl_cb_put(callbacks);
  if (received < 0) return fail(netlink_error(received, what));
  if (nlmsg_hdr(message)->nlmsg_flags & NLM_F_DUMP) return {};  // has an end of its own
  if (const int error = nl_wait_for_ack(socket); error < 0) return fail(netlink_error(error, what));
  return {};
}

}  // namespace

Result<std::shared_ptr<RouteSocket>> RouteSocket::open() {
  nl_sock* socket = nl_socket_alloc();
  if (!socket) return fail(Code::io, "netlink: no memory");
  std::shared_ptr<RouteSocket> owner(new RouteSocket(socket));
  if (const int error = nl_connect(socket, NETLINK_ROUTE); error < 0)
    return fail(netlink_error(error, "netlink"));
  return owner;
}

RouteSocket::~RouteSocket() { nl_socket_free(socket_); }

Result<> RouteSocket::dump(int type, unsigned char family, HostState& into) {
  const Message message(nlmsg_alloc_simple(type, NLM_F_DUMP));
  if (type == RTM_GETLINK) {
    ifinfomsg head{};
    nlmsg_append(message.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  } else {
    ifaddrmsg head{};
    head.ifa_family = family;
    nlmsg_append(message.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  }
  return exchange(socket_, message.get(), "list interfaces and addresses",
                  [&](nlmsghdr* one) { into.take(one); });
}

Result<HostState> RouteSocket::observe() {
  // A listing that the kernel interrupted because something changed meanwhile is made again.
  Result<> listed;
  for (int attempt = 0; attempt < 10; ++attempt) {
    HostState state;
    listed = dump(RTM_GETLINK, 0, state);
    if (listed) listed = dump(RTM_GETADDR, kInet, state);
    if (listed) listed = dump(RTM_GETADDR, kInet6, state);
    if (listed) return state;
  }
  return fail(listed.error());
}

Result<> RouteSocket::apply(const AddressChange& change) {
  const bool add = change.kind == AddressChange::Kind::add;
  const std::string what = std::string(add ? "add " : "remove ") + text_of(change.address);
  const Manner manner{.message_flags = NLM_F_EXCL,
                      .address_flags = IFA_F_NOPREFIXROUTE,
                      .protocol = kAddressProtocol};
  Message message =
      add ? addition(change.address, manner) : address_message(change.address, RTM_DELADDR, 0);
  const int error = nl_send_sync(socket_, message.release());  // frees it
  if (error == 0) return {};
  Error failed = netlink_error(error, what);
  if (!add && failed.code == Code::not_found) return {};
  return fail(std::move(failed));
}

Result<> RouteSocket::lend(const Loan& loan, bool again) {
  // With its connected route, which is what routing daemons announce.
  Message message = addition(loan.address, {.message_flags = again ? NLM_F_REPLACE : NLM_F_EXCL,
                                            .protocol = loan.protocol,
                                            .seconds = loan.seconds});
  const int error = nl_send_sync(socket_, message.release());  // frees it
  if (error == 0) return {};
  return fail(netlink_error(error, (again ? "renew " : "add ") + text_of(loan.address)));
}

Result<std::vector<RouteSocket::Unanswered>> RouteSocket::unanswered() {
  const Message question(nlmsg_alloc_simple(RTM_GETNEIGH, NLM_F_DUMP));
  ndmsg head{};
  nlmsg_append(question.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  std::vector<Unanswered> found;
  FL_CHECKED(exchange(socket_, question.get(), "list neighbours", [&](nlmsghdr* one) {
    nlattr* attributes[NDA_MAX + 1];
    if (one->nlmsg_type != RTM_NEWNEIGH ||
        nlmsg_parse(one, sizeof(ndmsg), attributes, NDA_MAX, nullptr) < 0)
      return;
    const auto* neighbour = static_cast<const ndmsg*>(nlmsg_data(one));
    const std::optional<Ip> ip = ip_in(neighbour->ndm_family, attributes[NDA_DST]);
    if (ip && (neighbour->ndm_state & NUD_INCOMPLETE) != 0)
      found.push_back({static_cast<std::uint32_t>(neighbour->ndm_ifindex), *ip});
  }));
  return found;
}

Result<bool> RouteSocket::has_link_route(const Ip& address, std::uint32_t ifindex) {
  const Message message(nlmsg_alloc_simple(RTM_GETROUTE, 0));
  rtmsg head{};
  head.rtm_family = family_of(address);
  head.rtm_dst_len = static_cast<unsigned char>(address.width());
  // The entry itself: else IPv4 takes everything for on-link that has no route at all.
  head.rtm_flags = RTM_F_FIB_MATCH;
  nlmsg_append(message.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  put_ip(message.get(), RTA_DST, address);
  nla_put_u32(message.get(), RTA_OIF, ifindex);
  bool on_link = false;
  const Result<> asked =
      exchange(socket_, message.get(), "route to " + address.to_string(), [&](nlmsghdr* answer) {
        nlattr* attributes[RTA_MAX + 1];
        if (answer->nlmsg_type != RTM_NEWROUTE ||
            nlmsg_parse(answer, sizeof(rtmsg), attributes, RTA_MAX, nullptr) < 0)
          return;
        const auto* route = static_cast<const rtmsg*>(nlmsg_data(answer));
        on_link = route->rtm_type == RTN_UNICAST && route->rtm_dst_len > 0 && attributes[RTA_OIF] &&
                  nla_get_u32(attributes[RTA_OIF]) == ifindex && !attributes[RTA_GATEWAY] &&
                  !attributes[RTA_VIA];
      });
  if (asked) return on_link;
  return false;  // no route at all: an error to the kernel
}

}  // namespace fairlead::vip
