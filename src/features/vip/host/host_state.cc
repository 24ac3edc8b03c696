#include "features/vip/host/host_state.h"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace fairlead::vip {
namespace {

constexpr unsigned char kUnspecified = 0, kInet = 2, kInet6 = 10;  // AF_…

std::string slave_kind(nlattr* info) {
  nlattr* attributes[IFLA_INFO_MAX + 1];
  if (!info || nla_parse_nested(attributes, IFLA_INFO_MAX, info, nullptr) < 0 ||
      !attributes[IFLA_INFO_SLAVE_KIND])
    return "";
  return nla_get_string(attributes[IFLA_INFO_SLAVE_KIND]);
}

std::optional<HostLink> parse_link(nlmsghdr* message) {
  nlattr* attributes[IFLA_MAX + 1];
  if (nlmsg_parse(message, sizeof(ifinfomsg), attributes, IFLA_MAX, nullptr) < 0 ||
      !attributes[IFLA_IFNAME])
    return std::nullopt;
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(message));
  HostLink link{.ifindex = static_cast<std::uint32_t>(info->ifi_index),
                .name = nla_get_string(attributes[IFLA_IFNAME]),
                .ethernet = info->ifi_type == ARPHRD_ETHER,
                .loopback = (info->ifi_flags & IFF_LOOPBACK) != 0,
                .up = (info->ifi_flags & IFF_UP) != 0,
                .carrier = (info->ifi_flags & IFF_LOWER_UP) != 0};
  if (const nlattr* mac = attributes[IFLA_ADDRESS]; mac && nla_len(mac) == 6) {
    std::array<std::uint8_t, 6> bytes;
    std::memcpy(bytes.data(), nla_data(mac), bytes.size());
    link.mac = Mac(bytes);
  }
  if (attributes[IFLA_MASTER]) link.port_of = slave_kind(attributes[IFLA_LINKINFO]);
  return link;
}

std::optional<Ip> parse_ip(unsigned char family, const nlattr* attribute) {
  if (!attribute) return std::nullopt;
  const auto* bytes = static_cast<const std::uint8_t*>(nla_data(attribute));
  if (family == kInet && nla_len(attribute) == 4)
    return Ip::v4(static_cast<std::uint32_t>(bytes[0]) << 24 |
                  static_cast<std::uint32_t>(bytes[1]) << 16 |
                  static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3]);
  if (family != kInet6 || nla_len(attribute) != 16) return std::nullopt;
  std::array<std::uint8_t, 16> v6;
  std::copy_n(bytes, v6.size(), v6.begin());
  return Ip::v6(v6);
}

std::optional<std::pair<HostAddress, AddressFacts>> parse_address(nlmsghdr* message) {
  nlattr* attributes[IFA_MAX + 1];
  if (nlmsg_parse(message, sizeof(ifaddrmsg), attributes, IFA_MAX, nullptr) < 0)
    return std::nullopt;
  const auto* info = static_cast<const ifaddrmsg*>(nlmsg_data(message));
  // IFA_ADDRESS is the other end's where there is one; then IFA_LOCAL is this host's.
  const std::optional<Ip> network = parse_ip(info->ifa_family, attributes[IFA_ADDRESS]);
  std::optional<Ip> local = parse_ip(info->ifa_family, attributes[IFA_LOCAL]);
  if (!local) local = network;
  if (!local || info->ifa_prefixlen > local->width()) return std::nullopt;
  AddressFacts facts{.on_link = Cidr(network.value_or(*local), info->ifa_prefixlen)};
  if (attributes[IFA_PROTO]) facts.protocol = nla_get_u8(attributes[IFA_PROTO]);
  return std::pair{HostAddress{info->ifa_index, *local, info->ifa_prefixlen}, facts};
}

template <class Map>
bool put(Map& map, const typename Map::key_type& key, const typename Map::mapped_type& value) {
  const auto [at, added] = map.try_emplace(key, value);
  if (added) return true;
  if (at->second == value) return false;
  at->second = value;
  return true;
}

}  // namespace

const HostLink* HostState::find(std::string_view name) const {
  const auto at =
      std::ranges::find_if(links, [&](const auto& one) { return one.second.name == name; });
  return at == links.end() ? nullptr : &at->second;
}

News HostState::take_link(nlmsghdr* message) {
  const std::optional<HostLink> link = parse_link(message);
  // Of the family of bridges: that a port comes or goes, not an interface.
  if (!link || static_cast<const ifinfomsg*>(nlmsg_data(message))->ifi_family != kUnspecified)
    return News::nothing;
  if (message->nlmsg_type == RTM_NEWLINK)
    return put(links, link->ifindex, *link) ? News::other : News::nothing;
  std::erase_if(addresses, [&](const auto& one) { return one.first.ifindex == link->ifindex; });
  return links.erase(link->ifindex) > 0 ? News::other : News::nothing;
}

News HostState::take_address(nlmsghdr* message) {
  const auto address = parse_address(message);
  if (!address) return News::nothing;
  const auto& [key, facts] = *address;
  const News news = facts.ours() ? News::own_address : News::other;
  if (message->nlmsg_type == RTM_NEWADDR) return put(addresses, key, facts) ? news : News::nothing;
  return addresses.erase(key) > 0 ? news : News::nothing;
}

News HostState::take(nlmsghdr* message) {
  switch (message->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      return take_link(message);
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return take_address(message);
    default:
      return News::nothing;
  }
}

News HostState::take_all(std::string& messages) {
  News news = News::nothing;
  auto* message = reinterpret_cast<nlmsghdr*>(messages.data());
  int left = static_cast<int>(messages.size());
  for (; nlmsg_ok(message, left); message = nlmsg_next(message, &left))
    news = std::max(news, take(message));
  return news;
}

}  // namespace fairlead::vip
