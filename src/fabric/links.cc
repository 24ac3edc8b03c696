#include "fabric/links.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace fairlead::fabric {
namespace {

// Interfaces about to be removed are put into this group, then the group is removed.
constexpr std::uint32_t kDoomedGroup = 0x666c6400;

struct CloseSocket {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
struct FreeCache {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
};
using Socket = std::unique_ptr<nl_sock, CloseSocket>;
using Cache = std::unique_ptr<nl_cache, FreeCache>;

Error netlink_error(std::string_view what, int error) {
  Code code = Code::io;
  if (error == -NLE_EXIST) code = Code::already_exists;
  if (error == -NLE_NODEV || error == -NLE_OBJ_NOTFOUND) code = Code::not_found;
  if (error == -NLE_PERM) code = Code::forbidden;
  return {code, std::string(what) + ": " + nl_geterror(error)};
}

Result<Socket> open_socket() {
  Socket socket(nl_socket_alloc());
  if (!socket) return fail(Code::exhausted, "netlink: no memory");
  if (const int error = nl_connect(socket.get(), NETLINK_ROUTE); error < 0)
    return fail(netlink_error("netlink: connect", error));
  return socket;
}

nl_msg* link_message(int type, int flags, unsigned interface_flags = 0) {
  nl_msg* message = nlmsg_alloc_simple(type, flags);
  ifinfomsg info{};
  info.ifi_flags = interface_flags;
  info.ifi_change = interface_flags;
  nlmsg_append(message, &info, sizeof info, NLMSG_ALIGNTO);
  return message;
}

// Sends, frees the message and waits for the kernel's verdict.
Result<> send(const Socket& socket, nl_msg* message, std::string_view what) {
  const int error = nl_send_sync(socket.get(), message);
  if (error < 0) return fail(netlink_error(what, error));
  return {};
}

Result<> create(const Socket& socket, const VethPair& pair) {
  nl_msg* message = link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  nla_put_string(message, IFLA_IFNAME, pair.host.c_str());
  nla_put_u32(message, IFLA_MTU, pair.mtu);
  nlattr* info = nla_nest_start(message, IFLA_LINKINFO);
  nla_put_string(message, IFLA_INFO_KIND, "veth");
  nlattr* data = nla_nest_start(message, IFLA_INFO_DATA);
  nlattr* peer = nla_nest_start(message, VETH_INFO_PEER);
  const ifinfomsg peer_info{};
  nlmsg_append(message, const_cast<ifinfomsg*>(&peer_info), sizeof peer_info, NLMSG_ALIGNTO);
  nla_put_string(message, IFLA_IFNAME, pair.guest.c_str());
  nla_put(message, IFLA_ADDRESS, static_cast<int>(pair.mac.bytes().size()),
          pair.mac.bytes().data());
  nla_put_u32(message, IFLA_MTU, pair.mtu);
  nla_nest_end(message, peer);
  nla_nest_end(message, data);
  nla_nest_end(message, info);
  return send(socket, message, "make " + pair.host);
}

Result<> write_setting(const std::string& path, std::string_view value) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (!file) return fail(errno_error("open " + path));
  const bool written = std::fwrite(value.data(), 1, value.size(), file) == value.size();
  if (std::fclose(file) != 0 || !written) return fail(errno_error("write " + path));
  return {};
}

// The host's kernel sees what the guest sends before or beside the switch does. It must neither
// answer (ARP for the host's addresses), nor route, nor take it in, nor greet the guest by itself.
Result<> close_to_host(const std::string& name) {
  const std::string ipv4 = "/proc/sys/net/ipv4/conf/" + name + "/";
  FL_CHECKED(write_setting(ipv4 + "arp_ignore", "8"));
  FL_CHECKED(write_setting(ipv4 + "rp_filter", "1"));
  FL_CHECKED(write_setting(ipv4 + "forwarding", "0"));
  // A kernel without IPv6 has no such file, and nothing to close.
  const auto ipv6 = write_setting("/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6", "1");
  if (!ipv6 && ipv6.error().code != Code::not_found) return fail(ipv6.error());
  return {};
}

Result<> stop_offload_by(const Socket& socket, const std::string& name) {
  ethtool_value value{.cmd = ETHTOOL_STXCSUM, .data = 0};  // what builds on it goes with it
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = &value;
  if (::ioctl(nl_socket_get_fd(socket.get()), SIOCETHTOOL, &request) < 0)
    return fail(errno_error("checksums of " + name));
  return {};
}

Result<> finish(const Socket& socket, const VethPair& pair) {
  FL_CHECKED(close_to_host(pair.host));
  if (!pair.offload) {
    FL_CHECKED(stop_offload_by(socket, pair.guest));
  }
  nl_msg* message = link_message(RTM_NEWLINK, 0, IFF_UP);
  nla_put_string(message, IFLA_IFNAME, pair.host.c_str());
  nla_put_string(message, IFLA_IFALIAS, pair.alias.c_str());
  return send(socket, message, "set up " + pair.host);
}

Result<> remove_one(const Socket& socket, const std::string& name) {
  nl_msg* message = link_message(RTM_DELLINK, 0);
  nla_put_string(message, IFLA_IFNAME, name.c_str());
  return send(socket, message, "remove " + name);
}

bool has_no_alias(const Socket& socket, const std::string& name) {
  rtnl_link* link = nullptr;
  if (rtnl_link_get_kernel(socket.get(), 0, name.c_str(), &link) < 0) return false;
  const char* alias = rtnl_link_get_ifalias(link);
  const bool none = alias == nullptr || *alias == '\0';
  rtnl_link_put(link);
  return none;
}

Result<> make(const Socket& socket, const VethPair& pair) {
  if (!is_interface_name(pair.host) || !is_interface_name(pair.guest))
    return fail(Code::invalid, "interface name \"" + pair.guest + "\"");
  Result<> created = create(socket, pair);
  if (!created && created.error().code == Code::already_exists && has_no_alias(socket, pair.host)) {
    FL_CHECKED(remove_one(socket, pair.host));
    created = create(socket, pair);
  }
  if (!created) return created;
  Result<> finished = finish(socket, pair);
  if (!finished) (void)remove_one(socket, pair.host);
  return finished;
}

}  // namespace

bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() < IFNAMSIZ && name != "all" && name != "default" &&
         std::ranges::all_of(
             name,
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
             });
}

Result<> stop_offload(const std::string& interface) {
  FL_TRY(const Socket socket, open_socket());
  return stop_offload_by(socket, interface);
}

std::vector<Result<>> make_veth_pairs(const std::vector<VethPair>& pairs) {
  const Result<Socket> socket = open_socket();
  std::vector<Result<>> results;
  for (const VethPair& pair : pairs)
    results.push_back(socket ? make(*socket, pair) : Result<>(fail(socket.error())));
  return results;
}

Result<> remove_links(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  FL_TRY(const Socket socket, open_socket());
  bool any = false;
  for (const std::string& name : names) {
    nl_msg* message = link_message(RTM_NEWLINK, 0);
    nla_put_string(message, IFLA_IFNAME, name.c_str());
    nla_put_u32(message, IFLA_GROUP, kDoomedGroup);
    const Result<> doomed = send(socket, message, "mark " + name);
    if (!doomed && doomed.error().code != Code::not_found) return doomed;
    any |= doomed.has_value();
  }
  if (!any) return {};
  nl_msg* message = link_message(RTM_DELLINK, 0);
  nla_put_u32(message, IFLA_GROUP, kDoomedGroup);
  return send(socket, message, "remove interfaces");
}

Result<std::vector<Link>> list_links(std::string_view alias_prefix) {
  FL_TRY(const Socket socket, open_socket());
  nl_cache* raw = nullptr;
  if (const int error = rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &raw); error < 0)
    return fail(netlink_error("list interfaces", error));
  const Cache cache(raw);
  std::vector<Link> links;
  for (nl_object* at = nl_cache_get_first(raw); at; at = nl_cache_get_next(at)) {
    auto* link = reinterpret_cast<rtnl_link*>(at);
    const char* alias = rtnl_link_get_ifalias(link);
    if (!alias || !std::string_view(alias).starts_with(alias_prefix)) continue;
    links.push_back({rtnl_link_get_name(link), alias, rtnl_link_get_mtu(link)});
  }
  return links;
}

}  // namespace fairlead::fabric
