#include "features/vip/host/relay.h"

#include <gtest/gtest.h>
#include <linux/filter.h>

#include "features/vip/announce/frames.h"
#include "foundation/runtime/frame_tap.h"

namespace fairlead::vip {
namespace {

constexpr Instant kStart{1000s};
const Ip kVip = *Ip::parse("192.0.2.75");
const Mac kOwn({2, 0, 0, 0, 0, 1}), kNext({2, 0, 0, 0, 0, 2}), kClient({2, 0, 0, 0, 0, 9});

std::string mac(const Mac& one) { return {one.bytes().begin(), one.bytes().end()}; }

std::string packet(char name, const Mac& to = kOwn, const Mac& from = kClient) {
  return std::string(runtime::kTapHead, '\x07') + mac(to) + mac(from) + std::string("\x08\x00", 2) +
         std::string(40, name);
}
std::string announcement(const Mac& of, const Ip& vip = kVip) {
  return std::string(runtime::kTapHead, '\0') + announcements(vip, of).front();
}

// Kept until the successor is known, then sent to it in order, and what comes later at once;
// nothing but the two MACs changes.
TEST(Relay, KeepsThenSendsOn) {
  Relay relay(kVip, kOwn, kStart);
  EXPECT_TRUE(relay.take(kStart, packet('a')).empty());
  EXPECT_TRUE(relay.take(kStart, packet('b')).empty());
  EXPECT_EQ(relay.take(kStart + 20ms, announcement(kNext)),
            (std::vector{packet('a', kNext, kOwn), packet('b', kNext, kOwn)}));
  EXPECT_EQ(relay.take(kStart + 21ms, packet('c')), (std::vector{packet('c', kNext, kOwn)}));
  EXPECT_EQ(relay.relayed(), 3U);
  EXPECT_EQ(relay.lost(), 0U);
}

// It ends a while after the successor was heard, or when none comes.
TEST(Relay, Ends) {
  Relay relay(kVip, kOwn, kStart);
  EXPECT_EQ(relay.until(), kStart + 3s);
  relay.take(kStart + 20ms, announcement(kNext));
  EXPECT_EQ(relay.until(), kStart + 1020ms);
  relay.take(kStart + 500ms, announcement(kNext));
  EXPECT_EQ(relay.until(), kStart + 1020ms);
}

// This host's own announcement, one of another address and a second claimant change nothing.
TEST(Relay, FollowsTheFirstSuccessor) {
  Relay relay(kVip, kOwn, kStart);
  relay.take(kStart, announcement(kOwn));
  relay.take(kStart, announcement(kNext, *Ip::parse("192.0.2.76")));
  EXPECT_EQ(relay.successor(), std::nullopt);
  relay.take(kStart, announcement(kNext));
  relay.take(kStart, announcement(kClient));
  EXPECT_EQ(relay.successor(), kNext);
}

// What is kept is bounded; the oldest go first. What is too short is no frame.
TEST(Relay, KeepsSoMuch) {
  Relay relay(kVip, kOwn, kStart, {.frames = 2});
  for (const char name : {'a', 'b', 'c'}) relay.take(kStart, packet(name));
  relay.take(kStart, "short");
  EXPECT_EQ(relay.lost(), 1U);
  EXPECT_EQ(relay.take(kStart, announcement(kNext)),
            (std::vector{packet('b', kNext, kOwn), packet('c', kNext, kOwn)}));
  Relay small(kVip, kOwn, kStart, {.bytes = packet('a').size()});
  for (const char name : {'a', 'b'}) small.take(kStart, packet(name));
  EXPECT_EQ(small.lost(), 1U);
}

// A frame runs through the filter: whether it is taken. A model of what the kernel does with these
// few instructions.
bool takes(const std::vector<sock_filter>& code, std::string frame, std::uint32_t protocol,
           std::uint32_t type = 0, bool tag = false) {
  frame.resize(frame.size() + 80);
  const auto byte = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(frame[at]));
  };
  std::uint32_t a = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const sock_filter& one = code[i];
    if (one.code == (BPF_RET | BPF_K)) return one.k != 0;
    if (one.code == (BPF_JMP | BPF_JEQ | BPF_K)) {
      i += a == one.k ? one.jt : one.jf;
    } else if (one.k >= static_cast<std::uint32_t>(SKF_AD_OFF)) {
      const auto what = static_cast<int>(one.k) - SKF_AD_OFF;
      a = what == SKF_AD_PROTOCOL ? protocol : what == SKF_AD_PKTTYPE ? type : tag;
    } else if ((one.code & 0x18) == BPF_B) {
      a = byte(one.k);
    } else {
      a = byte(one.k) << 24 | byte(one.k + 1) << 16 | byte(one.k + 2) << 8 | byte(one.k + 3);
    }
  }
  return false;
}

std::string ip_packet(const Ip& to) {
  const std::string all(to.bytes().begin(), to.bytes().end());
  return to.is_v4() ? std::string(14 + 16, '\x01') + all.substr(12)
                    : std::string(14 + 24, '\x01') + all;
}

// Packets to the VIP that are for this host, and claims to the VIP; nothing else.
TEST(RelayFilter, TakesPacketsAndClaims) {
  for (const char* text : {"192.0.2.75", "2001:db8::75"}) {
    const Ip vip = *Ip::parse(text);
    const Ip other = *Ip::parse(vip.is_v4() ? "192.0.2.76" : "2001:db8::76");
    const std::uint32_t ip = vip.is_v4() ? 0x0800 : 0x86dd, claims = vip.is_v4() ? 0x0806 : 0x86dd;
    const std::vector<sock_filter> code = relay_filter(vip);
    EXPECT_TRUE(takes(code, ip_packet(vip), ip)) << text;
    EXPECT_FALSE(takes(code, ip_packet(other), ip)) << text;
    EXPECT_FALSE(takes(code, ip_packet(vip), ip, 3)) << text << " for another host";
    EXPECT_FALSE(takes(code, ip_packet(vip), ip, 0, true)) << text << " in a VLAN";
    EXPECT_FALSE(takes(code, ip_packet(vip), 0x88cc)) << text;
    for (const std::string& frame : announcements(vip, kNext)) {
      EXPECT_TRUE(takes(code, frame, claims, 1)) << text;
      EXPECT_FALSE(takes(code, frame, claims, 1, true)) << text << " in a VLAN";
    }
    EXPECT_FALSE(takes(code, announcements(other, kNext).front(), claims, 1)) << text;
    EXPECT_FALSE(takes(code, probe(vip, kNext), claims, 1)) << text << " asked for";
  }
}

}  // namespace
}  // namespace fairlead::vip
