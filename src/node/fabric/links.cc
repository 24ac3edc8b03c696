#include "node/fabric/links.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>

#include "node/fabric/names.h"

namespace fairlead::fabric {
namespace {

// Links that are about to go are put into this group, so that one request removes them all: the
// kernel then waits only once for whoever still looks at them.
constexpr std::uint32_t kLeaving = 0x666c6576;

Error netlink_error(int error, const std::string& what) {
  Code code = Code::io;
  switch (-error) {
    case NLE_EXIST:
      code = Code::already_exists;
      break;
    case NLE_OBJ_NOTFOUND:
    case NLE_NODEV:
      code = Code::not_found;
      break;
    case NLE_PERM:
    case NLE_NOACCESS:
      code = Code::forbidden;
      break;
    case NLE_BUSY:
    case NLE_AGAIN:
      code = Code::unavailable;
      break;
    default:
      break;
  }
  return {code, what + ": " + nl_geterror(error)};
}

Maker maker_of(std::uint32_t group) {
  for (const Maker maker : {Maker::vxlan, Maker::ovs})
    if (group == static_cast<std::uint32_t>(maker)) return maker;
  return Maker::other;
}

void parse_vxlan(nlattr* data, Link& link) {
  nlattr* attributes[IFLA_VXLAN_MAX + 1];
  if (!data || nla_parse_nested(attributes, IFLA_VXLAN_MAX, data, nullptr) < 0) return;
  link.metadata = attributes[IFLA_VXLAN_COLLECT_METADATA] &&
                  nla_get_u8(attributes[IFLA_VXLAN_COLLECT_METADATA]) != 0;
  if (attributes[IFLA_VXLAN_PORT])
    link.udp_port = __builtin_bswap16(nla_get_u16(attributes[IFLA_VXLAN_PORT]));
}

std::optional<Link> parse_link(nlmsghdr* header) {
  nlattr* attributes[IFLA_MAX + 1];
  if (header->nlmsg_type != RTM_NEWLINK ||
      nlmsg_parse(header, sizeof(ifinfomsg), attributes, IFLA_MAX, nullptr) < 0 ||
      !attributes[IFLA_IFNAME])
    return std::nullopt;
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
  Link link{.ifindex = static_cast<std::uint32_t>(info->ifi_index),
            .name = nla_get_string(attributes[IFLA_IFNAME]),
            .up = (info->ifi_flags & IFF_UP) != 0,
            .loopback = (info->ifi_flags & IFF_LOOPBACK) != 0};
  if (attributes[IFLA_MTU]) link.mtu = nla_get_u32(attributes[IFLA_MTU]);
  if (attributes[IFLA_LINK] && !attributes[IFLA_LINK_NETNSID])
    link.peer = nla_get_u32(attributes[IFLA_LINK]);
  if (attributes[IFLA_GROUP]) link.maker = maker_of(nla_get_u32(attributes[IFLA_GROUP]));
  if (attributes[IFLA_IFALIAS]) link.alias = nla_get_string(attributes[IFLA_IFALIAS]);
  nlattr* kind[IFLA_INFO_MAX + 1];
  if (attributes[IFLA_LINKINFO] &&
      nla_parse_nested(kind, IFLA_INFO_MAX, attributes[IFLA_LINKINFO], nullptr) == 0 &&
      kind[IFLA_INFO_KIND]) {
    link.kind = nla_get_string(kind[IFLA_INFO_KIND]);
    if (link.kind == "vxlan") parse_vxlan(kind[IFLA_INFO_DATA], link);
  }
  return link;
}

// Sends a request and gives every message of the answer to `take`.
template <class Take>
Result<> exchange(nl_sock* socket, nl_msg* message, const std::string& what, Take take) {
  int sent = nl_send_auto(socket, message);
  if (sent < 0) return fail(netlink_error(sent, what));
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

// A veth end uses one queue each way unless told otherwise, but has one for each CPU, and waits for
// all CPUs when it puts the others aside: that is most of the time that making a pair takes.
void put_one_queue(nl_msg* message) {
  nla_put_u32(message, IFLA_NUM_TX_QUEUES, 1);
  nla_put_u32(message, IFLA_NUM_RX_QUEUES, 1);
}

void put_closed(nl_msg* message) {
  nlattr* inet = nla_nest_start(message, 2);  // AF_INET
  nlattr* settings = nla_nest_start(message, IFLA_INET_CONF);
  nla_put_u32(message, IPV4_DEVCONF_ARP_IGNORE, 8);
  nla_put_u32(message, IPV4_DEVCONF_RP_FILTER, 1);
  nla_put_u32(message, IPV4_DEVCONF_FORWARDING, 0);
  nla_nest_end(message, settings);
  nla_nest_end(message, inet);
}

}  // namespace

bool is_half_made(const Link& link) {
  return link.kind == "veth" && link.alias.empty() && !link.up &&
         guest_of_host_interface(link.name).has_value();
}

std::uint32_t underlay_mtu(const Link& link) { return link.loopback ? 1500 : link.mtu; }

bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() < IFNAMSIZ && name != "all" && name != "default" &&
         std::ranges::all_of(
             name,
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
             });
}

void Links::Close::operator()(nl_sock* socket) const { nl_socket_free(socket); }
void Links::Free::operator()(nl_msg* message) const { nlmsg_free(message); }

Result<Links> Links::open() {
  std::unique_ptr<nl_sock, Close> socket(nl_socket_alloc());
  if (!socket) return fail(Code::io, "netlink: no memory");
  if (const int error = nl_connect(socket.get(), NETLINK_ROUTE); error < 0)
    return fail(netlink_error(error, "netlink"));
  nl_socket_set_buffer_size(socket.get(), 1 << 20, 0);
  return Links(std::move(socket));
}

Links::Message Links::link_message(int type, int flags, std::uint32_t ifindex,
                                   unsigned raise_flag) {
  Message message(nlmsg_alloc_simple(type, flags));
  ifinfomsg info{};
  info.ifi_index = static_cast<int>(ifindex);
  info.ifi_flags = info.ifi_change = raise_flag;
  nlmsg_append(message.get(), &info, sizeof(info), NLMSG_ALIGNTO);
  return message;
}

// Sends it and waits for the acknowledgement.
Result<> Links::request(Message message, const std::string& what) {
  const int error = nl_send_sync(socket_.get(), message.release());  // frees it
  if (error < 0) return fail(netlink_error(error, what));
  return {};
}

Result<> Links::each(const std::function<void(Link)>& told) {
  const Message message = link_message(RTM_GETLINK, NLM_F_DUMP, 0, 0);
  return exchange(socket_.get(), message.get(), "list interfaces", [&](nlmsghdr* header) {
    if (std::optional<Link> link = parse_link(header)) told(*std::move(link));
  });
}

Result<Link> Links::find(const std::string& name) {
  Message message = link_message(RTM_GETLINK, 0, 0, 0);
  nla_put_string(message.get(), IFLA_IFNAME, name.c_str());
  return find(std::move(message), "interface " + name);
}

Result<Link> Links::find(Message request, const std::string& what) {
  std::optional<Link> found;
  FL_CHECKED(exchange(socket_.get(), request.get(), what,
                      [&](nlmsghdr* header) { found = parse_link(header); }));
  if (!found) return fail(Code::not_found, what + " does not exist");
  return *std::move(found);
}

Result<Link> Links::with_address(const Ip& address) {
  Message message(nlmsg_alloc_simple(RTM_GETADDR, NLM_F_DUMP));
  ifaddrmsg request_all{};
  nlmsg_append(message.get(), &request_all, sizeof(request_all), NLMSG_ALIGNTO);
  const std::size_t size = address.is_v4() ? 4 : 16;
  const std::uint8_t* bytes = address.bytes().data() + (16 - size);
  std::uint32_t ifindex = 0;
  FL_CHECKED(exchange(socket_.get(), message.get(), "list addresses", [&](nlmsghdr* header) {
    nlattr* attributes[IFA_MAX + 1];
    if (nlmsg_parse(header, sizeof(ifaddrmsg), attributes, IFA_MAX, nullptr) < 0) return;
    const nlattr* held = attributes[IFA_LOCAL] ? attributes[IFA_LOCAL] : attributes[IFA_ADDRESS];
    if (held && static_cast<std::size_t>(nla_len(held)) == size &&
        std::memcmp(nla_data(held), bytes, size) == 0)
      ifindex = static_cast<const ifaddrmsg*>(nlmsg_data(header))->ifa_index;
  }));
  if (ifindex == 0)
    return fail(Code::not_found,
                "no interface of this host has the address " + address.to_string());
  return find(link_message(RTM_GETLINK, 0, ifindex, 0),
              "the interface with the address " + address.to_string());
}

Result<Link> Links::make_veth(const Veth& veth) {
  if (!is_interface_name(veth.host_end) || !is_interface_name(veth.guest_end))
    return fail(Code::invalid, "interface name \"" + veth.guest_end + "\"");
  Result<Link> made = try_make_veth(veth);
  if (made || made.error().code != Code::already_exists) return made;
  const Result<Link> there = find(veth.host_end);
  if (!there || !is_half_made(*there)) return made;
  FL_CHECKED(remove({&there->ifindex, 1}));
  return try_make_veth(veth);
}

Result<Link> Links::try_make_veth(const Veth& veth) {
  Message message = link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0, 0);
  nl_msg* raw = message.get();
  nla_put_string(raw, IFLA_IFNAME, veth.host_end.c_str());
  nla_put_u32(raw, IFLA_MTU, veth.mtu);
  nla_put_u32(raw, IFLA_GROUP, static_cast<std::uint32_t>(veth.maker));
  put_one_queue(raw);
  nlattr* info = nla_nest_start(raw, IFLA_LINKINFO);
  nla_put_string(raw, IFLA_INFO_KIND, "veth");
  nlattr* data = nla_nest_start(raw, IFLA_INFO_DATA);
  nlattr* peer = nla_nest_start(raw, VETH_INFO_PEER);
  nlmsg_reserve(raw, sizeof(ifinfomsg), NLMSG_ALIGNTO);
  nla_put_string(raw, IFLA_IFNAME, veth.guest_end.c_str());
  nla_put(raw, IFLA_ADDRESS, static_cast<int>(veth.guest_mac.bytes().size()),
          veth.guest_mac.bytes().data());
  nla_put_u32(raw, IFLA_MTU, veth.mtu);
  put_one_queue(raw);
  nla_nest_end(raw, peer);
  nla_nest_end(raw, data);
  nla_nest_end(raw, info);
  FL_CHECKED(request(std::move(message), "make interface " + veth.guest_end));
  // The kernel notices somewhat later that the new interface has no carrier, unless asked for it:
  // were it up by then, everybody who listens would be told once more.
  return find(veth.host_end);
}

Result<Link> Links::make_vxlan(const std::string& name, std::uint16_t udp_port, std::uint32_t mtu) {
  Message message = link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0, 0);
  nl_msg* raw = message.get();
  nla_put_string(raw, IFLA_IFNAME, name.c_str());
  nla_put_u32(raw, IFLA_MTU, mtu);
  nlattr* info = nla_nest_start(raw, IFLA_LINKINFO);
  nla_put_string(raw, IFLA_INFO_KIND, "vxlan");
  nlattr* data = nla_nest_start(raw, IFLA_INFO_DATA);
  nla_put_u8(raw, IFLA_VXLAN_COLLECT_METADATA, 1);
  nla_put_u8(raw, IFLA_VXLAN_LEARNING, 0);
  nla_put_u16(raw, IFLA_VXLAN_PORT, __builtin_bswap16(udp_port));
  nla_nest_end(raw, data);
  nla_nest_end(raw, info);
  FL_CHECKED(request(std::move(message), "make interface " + name));
  return find(name);
}

Result<> Links::set_alias(std::uint32_t ifindex, const std::string& alias) {
  Message message = link_message(RTM_SETLINK, 0, ifindex, 0);
  nla_put(message.get(), IFLA_IFALIAS, static_cast<int>(alias.size()), alias.data());
  return request(std::move(message), "set alias");
}

Result<> Links::set_mtu(const std::string& name, std::uint32_t mtu) {
  Message message = link_message(RTM_SETLINK, 0, 0, 0);
  nla_put_string(message.get(), IFLA_IFNAME, name.c_str());
  nla_put_u32(message.get(), IFLA_MTU, mtu);
  return request(std::move(message), "set MTU of " + name);
}

Result<> Links::set_mtu(std::uint32_t ifindex, std::uint32_t mtu) {
  Message message = link_message(RTM_SETLINK, 0, ifindex, 0);
  nla_put_u32(message.get(), IFLA_MTU, mtu);
  return request(std::move(message), "set MTU");
}

Result<> Links::stop_offload(const std::string& name) {
  ethtool_value value{.cmd = ETHTOOL_STXCSUM, .data = 0};  // what builds on it goes with it
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = &value;
  if (::ioctl(nl_socket_get_fd(socket_.get()), SIOCETHTOOL, &request) < 0)
    return fail(errno_error("checksums of " + name));
  return {};
}

Result<> Links::raise(std::uint32_t ifindex, const Raise& how) {
  const auto raise_message = [&](bool with_ipv6) {
    const unsigned flags = IFF_UP | (how.promiscuous ? IFF_PROMISC : 0U);
    Message message = link_message(RTM_SETLINK, 0, ifindex, flags);
    nl_msg* raw = message.get();
    if (!how.alias.empty())
      nla_put(raw, IFLA_IFALIAS, static_cast<int>(how.alias.size()), how.alias.data());
    nlattr* families = nla_nest_start(raw, IFLA_AF_SPEC);
    if (how.closed) put_closed(raw);
    if (with_ipv6) {
      nlattr* inet6 = nla_nest_start(raw, 10);  // AF_INET6
      nla_put_u8(raw, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
      nla_nest_end(raw, inet6);
    }
    nla_nest_end(raw, families);
    return message;
  };
  Result<> raised = request(raise_message(true), "set interface up");
  if (raised) return raised;
  // A kernel without IPv6 refuses that part.
  return request(raise_message(false), "set interface up");
}

Result<> Links::remove(std::span<const std::uint32_t> ifindexes) {
  if (ifindexes.size() == 1) {
    Result<> removed =
        request(link_message(RTM_DELLINK, 0, ifindexes.front(), 0), "remove interface");
    if (!removed && removed.error().code == Code::not_found) return {};
    return removed;
  }
  std::vector<Message> marks;
  for (const std::uint32_t ifindex : ifindexes)
    marks.push_back(link_message(RTM_SETLINK, 0, ifindex, 0));
  return remove_all(std::move(marks));
}

Result<> Links::remove(std::span<const std::string> names) {
  std::vector<Message> marks;
  for (const std::string& name : names) {
    marks.push_back(link_message(RTM_SETLINK, 0, 0, 0));
    nla_put_string(marks.back().get(), IFLA_IFNAME, name.c_str());
  }
  return remove_all(std::move(marks));
}

// The links that these requests are about are marked, then go together.
Result<> Links::remove_all(std::vector<Message> marks) {
  bool any = false;
  for (Message& mark : marks) {
    nla_put_u32(mark.get(), IFLA_GROUP, kLeaving);
    const Result<> marked = request(std::move(mark), "remove interfaces");
    if (!marked && marked.error().code != Code::not_found) return marked;
    any |= marked.has_value();
  }
  if (!any) return {};
  Message message = link_message(RTM_DELLINK, 0, 0, 0);
  nla_put_u32(message.get(), IFLA_GROUP, kLeaving);
  return request(std::move(message), "remove interfaces");
}

}  // namespace fairlead::fabric
