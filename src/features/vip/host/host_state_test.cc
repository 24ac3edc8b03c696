#include "features/vip/host/host_state.h"

#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <memory>

namespace fairlead::vip {
namespace {

struct Free {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, Free>;

struct LinkWords {
  int type = RTM_NEWLINK;
  std::uint32_t ifindex = 7;
  const char* name = "eth0";
  unsigned flags = IFF_UP | IFF_LOWER_UP;
  unsigned short hardware = ARPHRD_ETHER;
  unsigned char family = 0;
  const char* slave_kind = nullptr;
};

Message link(const LinkWords& words) {
  Message message(nlmsg_alloc_simple(words.type, 0));
  ifinfomsg head{};
  head.ifi_family = words.family;
  head.ifi_type = words.hardware;
  head.ifi_index = static_cast<int>(words.ifindex);
  head.ifi_flags = words.flags;
  nlmsg_append(message.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  nla_put_string(message.get(), IFLA_IFNAME, words.name);
  nla_put(message.get(), IFLA_ADDRESS, 6, "\x02\x00\x00\x00\x00\x07");
  if (words.slave_kind) {
    nla_put_u32(message.get(), IFLA_MASTER, 9);
    nlattr* info = nla_nest_start(message.get(), IFLA_LINKINFO);
    nla_put_string(message.get(), IFLA_INFO_SLAVE_KIND, words.slave_kind);
    nla_nest_end(message.get(), info);
  }
  return message;
}

Message address(int type, const char* text, int prefix, std::uint8_t protocol = 0,
                const char* peer = nullptr) {
  const auto put = [](nl_msg* to, int attribute, const char* ip_text) {
    const Ip ip = *Ip::parse(ip_text);
    const int skip = ip.is_v4() ? 12 : 0;
    nla_put(to, attribute, 16 - skip, ip.bytes().data() + skip);
  };
  Message message(nlmsg_alloc_simple(type, 0));
  ifaddrmsg head{};
  head.ifa_family = Ip::parse(text)->is_v4() ? 2 : 10;
  head.ifa_prefixlen = static_cast<unsigned char>(prefix);
  head.ifa_index = 7;
  nlmsg_append(message.get(), &head, sizeof(head), NLMSG_ALIGNTO);
  put(message.get(), IFA_ADDRESS, peer ? peer : text);
  if (head.ifa_family == 2) put(message.get(), IFA_LOCAL, text);
  if (protocol) nla_put_u8(message.get(), IFA_PROTO, protocol);
  return message;
}

News take(HostState& state, const Message& message) { return state.take(nlmsg_hdr(message.get())); }

// Interfaces come, change, are renamed and go, with their addresses.
TEST(HostState, FollowsInterfaces) {
  HostState state;
  EXPECT_EQ(take(state, link({})), News::other);
  EXPECT_EQ(take(state, link({})), News::nothing);
  const HostLink* eth0 = state.find("eth0");
  ASSERT_NE(eth0, nullptr);
  EXPECT_EQ(*eth0, (HostLink{.ifindex = 7,
                             .name = "eth0",
                             .mac = *Mac::parse("02:00:00:00:00:07"),
                             .ethernet = true,
                             .up = true,
                             .carrier = true}));
  EXPECT_EQ(take(state, link({.flags = IFF_UP})), News::other);
  EXPECT_FALSE(state.find("eth0")->carrier);
  EXPECT_EQ(take(state, link({.slave_kind = "bridge"})), News::other);
  EXPECT_EQ(state.find("eth0")->port_of, "bridge");
  EXPECT_EQ(take(state, link({.name = "lan"})), News::other);
  EXPECT_EQ(state.find("eth0"), nullptr);
  EXPECT_EQ(take(state, address(RTM_NEWADDR, "192.0.2.1", 24)), News::other);
  EXPECT_EQ(take(state, link({.type = RTM_DELLINK, .name = "lan"})), News::other);
  EXPECT_EQ(state, HostState{});
}

// A port that leaves a bridge is not an interface that goes; tunnels are not Ethernet.
TEST(HostState, TellsKindsApart) {
  HostState state;
  take(state, link({}));
  EXPECT_EQ(take(state, link({.type = RTM_DELLINK, .family = 7})), News::nothing);
  EXPECT_NE(state.find("eth0"), nullptr);
  take(state, link({.ifindex = 8, .name = "wg0", .hardware = ARPHRD_NONE}));
  EXPECT_FALSE(state.find("wg0")->ethernet);
}

// Addresses of both families, with what is on-link by them, and whose they are.
TEST(HostState, FollowsAddresses) {
  HostState state;
  EXPECT_EQ(take(state, address(RTM_NEWADDR, "192.0.2.1", 24)), News::other);
  EXPECT_EQ(take(state, address(RTM_NEWADDR, "2001:db8::1", 64)), News::other);
  EXPECT_EQ(take(state, address(RTM_NEWADDR, "192.0.2.75", 32, kAddressProtocol)),
            News::own_address);
  EXPECT_EQ(take(state, address(RTM_NEWADDR, "10.0.0.1", 24, 0, "10.1.0.2")), News::other);
  EXPECT_EQ((state.addresses[{7, *Ip::parse("192.0.2.1"), 24}].on_link),
            *Cidr::parse("192.0.2.0/24"));
  EXPECT_EQ((state.addresses[{7, *Ip::parse("2001:db8::1"), 64}].on_link),
            *Cidr::parse("2001:db8::/64"));
  EXPECT_EQ((state.addresses[{7, *Ip::parse("10.0.0.1"), 24}].on_link),
            *Cidr::parse("10.1.0.0/24"));
  EXPECT_EQ(take(state, address(RTM_DELADDR, "192.0.2.75", 32, kAddressProtocol)),
            News::own_address);
  EXPECT_EQ(take(state, address(RTM_DELADDR, "192.0.2.75", 32, kAddressProtocol)), News::nothing);
  EXPECT_EQ(state.addresses.size(), 3U);
}

// Several messages in one datagram, and one that is cut off.
TEST(HostState, TakesDatagramsApart) {
  std::string bytes;
  for (const char* name : {"eth0", "eth1"}) {
    const Message one = link({.ifindex = name[3] == '0' ? 7U : 8U, .name = name});
    const nlmsghdr* head = nlmsg_hdr(one.get());
    bytes.append(reinterpret_cast<const char*>(head), NLMSG_ALIGN(head->nlmsg_len));
  }
  HostState state;
  EXPECT_EQ(state.take_all(bytes), News::other);
  EXPECT_EQ(state.links.size(), 2U);
  HostState cut;
  std::string part = bytes.substr(0, bytes.size() - 4);
  EXPECT_EQ(cut.take_all(part), News::other);
  EXPECT_EQ(cut.links.size(), 1U);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    HostState state_of_part;
    std::string beginning = bytes.substr(0, size);
    (void)state_of_part.take_all(beginning);
    EXPECT_LE(state_of_part.links.size(), 2U);
  }
}

}  // namespace
}  // namespace fairlead::vip
