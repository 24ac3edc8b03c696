// Runs single frames through the fence's kernel programs (BPF_PROG_TEST_RUN), without any
// interface: what they drop, and that they leave everything else alone. The tests on real
// interfaces are in tests/netns/vip_fence.sh.
#include "features/vip/fence/programs.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/pkt_cls.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "features/vip/fence/shutter.h"
#include "foundation/base/ip.h"

namespace fairlead::vip {
namespace {

using Bytes = std::string;

constexpr const char* kVip4 = "10.0.0.75";
constexpr const char* kVip6 = "2001:db8::75";
constexpr const char* kOther4 = "10.0.0.9";
constexpr const char* kOther6 = "2001:db8::9";
constexpr const char* kAll6 = "ff02::1";

Bytes number16(unsigned value) { return {static_cast<char>(value >> 8), static_cast<char>(value)}; }

Bytes address(const char* text) {
  const Ip ip = *Ip::parse(text);
  const Bytes all(ip.bytes().begin(), ip.bytes().end());
  return ip.is_v4() ? all.substr(12) : all;
}

Bytes ethernet(unsigned ethertype, const Bytes& payload, const Bytes& tags = "") {
  return Bytes(6, '\0') + Bytes(6, '\x04') + tags + number16(ethertype) + payload;
}
Bytes tag(unsigned kind) { return number16(kind) + number16(5); }

Bytes arp(unsigned operation, const char* sender, const char* target, unsigned hardware_size = 6) {
  const Bytes hardware(hardware_size, '\x04');
  return number16(1) + number16(0x0800) + static_cast<char>(hardware_size) + '\x04' +
         number16(operation) + hardware + address(sender) + hardware + address(target);
}

Bytes ipv4(const char* source, const char* target, unsigned fragment = 0, bool options = false) {
  const Bytes more = options ? Bytes(4, '\x01') : "";
  return Bytes(1, options ? '\x46' : '\x45') + '\0' + number16(28 + more.size()) + number16(7) +
         number16(fragment) + '\x40' + '\x11' + number16(0) + address(source) + address(target) +
         more + Bytes(8, '\x01');
}

Bytes ipv6(const char* source, const char* target, unsigned next, const Bytes& payload) {
  return Bytes("\x60\0\0\0", 4) + number16(payload.size()) + static_cast<char>(next) + '\xff' +
         address(source) + address(target) + payload;
}
Bytes neighbour(unsigned type, const char* about) {
  return Bytes(1, static_cast<char>(type)) + Bytes(7, '\0') + address(about) + Bytes(8, '\x02');
}
Bytes udp() { return Bytes(8, '\x01'); }
// An extension header of eight bytes; the fragment header is one of them.
Bytes extension(unsigned next, unsigned offset = 0) {
  return Bytes(1, static_cast<char>(next)) + '\0' + number16(offset) + Bytes(4, '\0');
}

std::uint64_t boot_time() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class Frames : public testing::Test {
 protected:
  // In a network namespace of its own, which forwards nothing.
  static void SetUpTestSuite() {
    if (::geteuid() != 0 || ::unshare(CLONE_NEWNET) != 0) return;
    std::ofstream("/proc/sys/net/ipv4/conf/all/forwarding") << "0";
    std::ofstream("/proc/sys/net/ipv6/conf/all/forwarding") << "0";
  }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    Result<FencePrograms> loaded = FencePrograms::load("/no/such/folder");
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    programs_.emplace(std::move(*loaded));
    Result<DeadlineTable> deadlines = DeadlineTable::map(programs_->map(kDeadlines));
    ASSERT_TRUE(deadlines) << deadlines.error().to_string();
    deadlines_.emplace(std::move(*deadlines));
    add(kVip4, 3);
    add(kVip6, 4);
  }

  void add(const char* vip, std::uint32_t slot) {
    fl_fence_address key{};
    const Ip ip = *Ip::parse(vip);
    std::ranges::copy(ip.bytes(), key.bytes);
    if (ip.is_v4()) key.bytes[10] = key.bytes[11] = 0xff;
    const fl_fence_place place{.slot = slot, .ifindex = 1};
    ASSERT_EQ(bpf_map_update_elem(programs_->map(kAddresses), &key, &place, BPF_ANY), 0);
  }
  void set_deadline(std::uint64_t deadline) {
    deadlines_->set(3, deadline);
    deadlines_->set(4, deadline);
  }

  // What becomes of the frame on the loopback interface.
  bool passes(Direction direction, Bytes frame, std::uint32_t entered_by = 0) {
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    __sk_buff context;
    std::memset(&context, 0, sizeof(context));
    context.ifindex = 1;
    context.ingress_ifindex = entered_by;
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.ctx_in = &context;
    options.ctx_size_in = sizeof(context);
    const int error = bpf_prog_test_run_opts(programs_->program(direction), &options);
    EXPECT_EQ(error, 0);
    const auto verdict = static_cast<int>(options.retval);
    EXPECT_TRUE(verdict == TC_ACT_UNSPEC || verdict == TC_ACT_SHOT) << verdict;
    return verdict == TC_ACT_UNSPEC;
  }
  bool leaves(const Bytes& frame) { return passes(Direction::out, frame); }
  bool enters(const Bytes& frame) { return passes(Direction::in, frame); }

  std::uint64_t counted(std::uint32_t what) {
    std::vector<std::uint64_t> each(256);
    EXPECT_EQ(bpf_map_lookup_elem(programs_->map(kCounters), &what, each.data()), 0);
    std::uint64_t sum = 0;
    for (const std::uint64_t one : each) sum += one;
    return sum;
  }

  std::optional<FencePrograms> programs_;
  std::optional<DeadlineTable> deadlines_;
};

struct Case {
  const char* name;
  Bytes frame;
};

// All that speaks for a VIP: an ARP of it, an advertisement of it, a packet from it.
std::vector<Case> answers() {
  const Bytes advertised = neighbour(136, kVip6);
  return {
      {"ARP reply", ethernet(0x0806, arp(2, kVip4, kOther4))},
      {"announcement", ethernet(0x0806, arp(1, kVip4, kVip4))},
      {"ARP request of its own", ethernet(0x0806, arp(1, kVip4, kOther4))},
      {"ARP, padded", ethernet(0x0806, arp(2, kVip4, kOther4) + Bytes(18, '\0'))},
      {"ARP, unknown operation", ethernet(0x0806, arp(9, kVip4, kOther4))},
      {"ARP, hardware address of 8 bytes", ethernet(0x0806, arp(2, kVip4, kOther4, 8))},
      {"ARP, no hardware address", ethernet(0x0806, arp(2, kVip4, kOther4, 0))},
      {"ARP, cut behind the sender", ethernet(0x0806, arp(2, kVip4, kOther4).substr(0, 18))},
      {"ARP in 802.1Q", ethernet(0x0806, arp(2, kVip4, kOther4), tag(0x8100))},
      {"ARP in 802.1ad", ethernet(0x0806, arp(2, kVip4, kOther4), tag(0x88a8))},
      {"ARP in two tags", ethernet(0x0806, arp(2, kVip4, kOther4), tag(0x88a8) + tag(0x8100))},
      {"IPv4", ethernet(0x0800, ipv4(kVip4, kOther4))},
      {"IPv4 with options", ethernet(0x0800, ipv4(kVip4, kOther4, 0, true))},
      {"IPv4, a later piece", ethernet(0x0800, ipv4(kVip4, kOther4, 0x00b9))},
      {"IPv4, cut behind the addresses", ethernet(0x0800, ipv4(kVip4, kOther4).substr(0, 20))},
      {"IPv4 in 802.1Q", ethernet(0x0800, ipv4(kVip4, kOther4), tag(0x8100))},
      {"IPv4 in two tags", ethernet(0x0800, ipv4(kVip4, kOther4), tag(0x8100) + tag(0x8100))},
      {"IPv6", ethernet(0x86dd, ipv6(kVip6, kOther6, 17, udp()))},
      {"IPv6 in 802.1Q", ethernet(0x86dd, ipv6(kVip6, kOther6, 17, udp()), tag(0x8100))},
      {"IPv6, a later piece",
       ethernet(0x86dd, ipv6(kVip6, kOther6, 44, extension(17, 0x0588) + udp()))},
      {"solicitation from it", ethernet(0x86dd, ipv6(kVip6, kAll6, 58, neighbour(135, kOther6)))},
      {"advertisement", ethernet(0x86dd, ipv6(kVip6, kAll6, 58, advertised))},
      {"advertisement from another", ethernet(0x86dd, ipv6("fe80::1", kAll6, 58, advertised))},
      {"advertisement in 802.1ad",
       ethernet(0x86dd, ipv6("fe80::1", kAll6, 58, advertised), tag(0x88a8))},
      {"advertisement without option",
       ethernet(0x86dd, ipv6("fe80::1", kAll6, 58, advertised.substr(0, 24)))},
      {"advertisement behind options",
       ethernet(0x86dd, ipv6("fe80::1", kAll6, 0, extension(60) + extension(58) + advertised))},
      {"advertisement in a first piece",
       ethernet(0x86dd, ipv6("fe80::1", kAll6, 44, extension(58, 1) + advertised))},
      {"advertisement from it for another",
       ethernet(0x86dd, ipv6(kVip6, kAll6, 58, neighbour(136, kOther6)))},
  };
}

// What a host that does not hold the VIP sends: it names the VIP, but does not speak for it.
std::vector<Case> questions() {
  return {
      {"ARP request", ethernet(0x0806, arp(1, kOther4, kVip4))},
      {"ARP probe", ethernet(0x0806, arp(1, "0.0.0.0", kVip4))},
      {"ARP reply to it", ethernet(0x0806, arp(2, kOther4, kVip4))},
      {"IPv4 to it", ethernet(0x0800, ipv4(kOther4, kVip4))},
      {"IPv6 to it", ethernet(0x86dd, ipv6(kOther6, kVip6, 17, udp()))},
      {"solicitation", ethernet(0x86dd, ipv6(kOther6, kAll6, 58, neighbour(135, kVip6)))},
      {"duplicate detection", ethernet(0x86dd, ipv6("::", kAll6, 58, neighbour(135, kVip6)))},
  };
}

// Frames that have nothing to do with the VIPs, whole or broken.
std::vector<Case> others() {
  const Bytes frame = ethernet(0x86dd, ipv6("fe80::1", kAll6, 58, neighbour(136, kVip6)));
  return {
      {"IPv4", ethernet(0x0800, ipv4(kOther4, "10.0.0.1"))},
      {"IPv6", ethernet(0x86dd, ipv6(kOther6, "2001:db8::1", 17, udp()))},
      {"ARP", ethernet(0x0806, arp(2, kOther4, "10.0.0.1"))},
      {"advertisement", ethernet(0x86dd, ipv6(kOther6, kAll6, 58, neighbour(136, kOther6)))},
      {"IPv4 in IPv6's range", ethernet(0x86dd, ipv6("::10.0.0.75", kOther6, 17, udp()))},
      {"another protocol", ethernet(0x88cc, Bytes(40, '\x0a'))},
      {"ARP for other protocols", ethernet(0x0806, number16(1) + number16(0x86dd) + '\x06' +
                                                       '\x10' + number16(2) + Bytes(44, '\x01'))},
      {"ARP without addresses", ethernet(0x0806, arp(2, kVip4, kOther4).substr(0, 17))},
      {"IPv4 without addresses", ethernet(0x0800, ipv4(kVip4, kOther4).substr(0, 15), tag(0x8100))},
      {"IPv6 without addresses",
       ethernet(0x86dd, ipv6(kVip6, kOther6, 17, "").substr(0, 23), tag(0x8100))},
      {"advertisement without address", frame.substr(0, 14 + 40 + 23)},
      {"advertisement in a later piece",
       ethernet(0x86dd, ipv6("fe80::1", kAll6, 44, extension(58, 8) + neighbour(136, kVip6)))},
      {"tags and nothing else", ethernet(0x8100, "", tag(0x8100))},
      {"a tag and an ethertype", ethernet(0x0800, "", tag(0x8100))},
  };
}

// A closed VIP is silent in every form; the same frames leave while it is open.
TEST_F(Frames, AnswersPassOnlyBeforeTheDeadline) {
  for (const Case& one : answers()) {
    set_deadline(0);
    EXPECT_FALSE(leaves(one.frame)) << one.name;
    set_deadline(boot_time());
    EXPECT_FALSE(leaves(one.frame)) << one.name << " at the deadline";
    set_deadline(boot_time() + 60'000'000'000);
    EXPECT_TRUE(leaves(one.frame)) << one.name << " before it";
    set_deadline(UINT64_MAX);
    EXPECT_TRUE(leaves(one.frame)) << one.name << " without end";
  }
}

// A host that does not hold the VIP still asks for it and talks to it.
TEST_F(Frames, QuestionsAndPacketsToTheVipLeave) {
  for (const Case& one : questions()) EXPECT_TRUE(leaves(one.frame)) << one.name;
}

// What arrives for a closed VIP is not taken, because the loopback interface does not forward; a
// reply to it is no question, but ARP's business with the MAC.
TEST_F(Frames, ArrivalsAreTakenOnlyBeforeTheDeadline) {
  for (const Case& one : questions()) {
    const bool harmless = std::string_view(one.name) == "ARP reply to it";
    set_deadline(0);
    EXPECT_EQ(enters(one.frame), harmless) << one.name;
    set_deadline(UINT64_MAX);
    EXPECT_TRUE(enters(one.frame)) << one.name << " before the deadline";
  }
}

// The holder's own words reach the others: their neighbour tables follow its announcements.
TEST_F(Frames, AnswersOfTheHolderArrive) {
  for (const Case& one : answers()) EXPECT_TRUE(enters(one.frame)) << one.name;
}

// Nothing else is touched, in whatever state it is.
TEST_F(Frames, OtherFramesPass) {
  for (const Case& one : others()) {
    EXPECT_TRUE(leaves(one.frame)) << one.name;
    EXPECT_TRUE(enters(one.frame)) << one.name;
  }
}

// A packet that entered by some interface is not transit without the mark of a guarded one.
TEST_F(Frames, ForwardedWithoutMarkIsAnAnswer) {
  const std::uint32_t entered_by = 1;
  const std::uint32_t yes = 1;
  ASSERT_EQ(bpf_map_update_elem(programs_->map(kGuarded), &entered_by, &yes, BPF_ANY), 0);
  for (const Case& one : answers())
    EXPECT_FALSE(passes(Direction::out, one.frame, entered_by)) << one.name;
}

// A VIP that is not in the map is nobody's business; drops are counted by kind.
TEST_F(Frames, CountsWhatItDrops) {
  const auto before = counted(FL_FENCE_ARP);
  EXPECT_FALSE(leaves(ethernet(0x0806, arp(2, kVip4, kOther4))));
  EXPECT_TRUE(leaves(ethernet(0x0806, arp(2, kOther4, kVip4))));
  EXPECT_EQ(counted(FL_FENCE_ARP), before + 1);
  EXPECT_FALSE(leaves(ethernet(0x0800, ipv4(kVip4, kOther4))));
  EXPECT_EQ(counted(FL_FENCE_SOURCE), 1U);
  EXPECT_FALSE(leaves(ethernet(0x86dd, ipv6("fe80::1", kAll6, 58, neighbour(136, kVip6)))));
  EXPECT_EQ(counted(FL_FENCE_ND), 1U);
  EXPECT_FALSE(enters(ethernet(0x0800, ipv4(kOther4, kVip4))));
  EXPECT_EQ(counted(FL_FENCE_DELIVERY), 1U);
  EXPECT_FALSE(enters(ethernet(0x0806, arp(1, kOther4, kVip4))));
  EXPECT_EQ(counted(FL_FENCE_QUESTION), 1U);
}

// The guard's way of closing: no program is needed.
TEST_F(Frames, TheShutterClosesAll) {
  set_deadline(UINT64_MAX);
  Result<DeadlineTable> shutter = DeadlineTable::map(programs_->map(kDeadlines));
  ASSERT_TRUE(shutter);
  shutter->close_all();
  for (const Case& one : answers()) EXPECT_FALSE(leaves(one.frame)) << one.name;
}

}  // namespace
}  // namespace fairlead::vip
