// The bytes here went over the control socket of an Open vSwitch 3.1 bridge.
#include "foundation/wire/openflow.h"

#include <gtest/gtest.h>

namespace fairlead::wire::openflow {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  return bytes;
}

Mac mac(std::string_view text) { return *Mac::parse(text); }
Ip ip(std::string_view text) { return *Ip::parse(text); }

constexpr std::uint64_t kCookie = 0xf1ea000000000001;

struct FlowCase {
  std::string_view name;
  std::string_view hex;  // what ovs-ofctl sent for it
  FlowMod change;
};

std::vector<FlowCase> flow_cases() {
  return {
      {"answer to ARP, first half",
       "050e009000000007f1ea00000000000100000000000000000100000000000064ffffffffffffffffffffffff000"
       "00"
       "0000001002480000a02080680002a02000180002e040a00000280004c0800000000000000070000000000040030"
       "00"
       "000000ffff001800002320000600300000000000000406000002060019001080000806020000000002000000010"
       "00"
       "802000000",
       {Command::add,
        {1,
         100,
         kCookie,
         {exactly(kEthType, kEthTypeArp), exactly(kArpOp, 1), exactly(kArpTpa, ip("10.0.0.2")),
          exactly(kTunnelId, 7)},
         {Move{kEthSrc, kEthDst}, SetField{exactly(kEthSrc, mac("02:00:00:00:00:02"))}},
         2,
         {}}}},
      {"answer to neighbour solicitation",
       "050e00c000000007000000000000000000000000000000000200000000000064ffffffffffffffffffffffff000"
       "00"
       "0000001001980000a0286dd800014013a80003a018780003c0100000000000000000004006800000000ffff0018"
       "00"
       "00232000060080000000000001261000012810ffff001800002320000600800000000000012e100001261000190"
       "01"
       "080003a018800000000000000001900101000040102000000000000000019001010000204600000000000000000"
       "01"
       "000803000000",
       {Command::add,
        {2,
         100,
         0,
         {exactly(kEthType, kEthTypeIpv6), exactly(kIpProto, 58), exactly(kIcmpv6Type, 135),
          exactly(kIcmpv6Code, 0)},
         {Move{kIpv6Src, kIpv6Dst}, Move{kNdTarget, kIpv6Src}, SetField{exactly(kIcmpv6Type, 136)},
          SetField{exactly(kNdOptionType, 2)}, SetField{exactly(kNdReserved, 0x60000000)}},
         3,
         {}}}},
      {"second half, out where it came in",
       "050e007800000007000000000000000000000000000000000300000000000064ffffffffffffffffffffffff000"
       "00"
       "0000001001480000a0286dd800014013a80003a0188000000000004003000000000ffff00180000232000060030"
       "00"
       "000000000004060001320600000010fffffff80000000000000000",
       {Command::add,
        {3,
         100,
         0,
         {exactly(kEthType, kEthTypeIpv6), exactly(kIpProto, 58), exactly(kIcmpv6Type, 136)},
         {Move{kEthSrc, kNdTargetMac}, Output{kPortIn}},
         std::nullopt,
         {}}}},
      {"ARP through a register",
       "050e00e000000007000000000000000000000000000000000200000000000064ffffffffffffffffffffffff000"
       "00"
       "0000001000a80000a020806000000000000000400a0000000000019001080002a020002000000000000ffff0018"
       "00"
       "00232000060030000000000001220600012406ffff00180000232000060030000000000000040600012206ffff0"
       "01"
       "80000232000060020000000000000220400010004ffff00180000232000060020000000000000200400002204ff"
       "ff"
       "0018000023200006002000000000000100040000200400000010fffffff80000000000000000",
       {Command::add,
        {2,
         100,
         0,
         {exactly(kEthType, kEthTypeArp)},
         {SetField{exactly(kArpOp, 2)}, Move{kArpSha, kArpTha}, Move{kEthSrc, kArpSha},
          Move{kArpTpa, kRegister0}, Move{kArpSpa, kArpTpa}, Move{kRegister0, kArpSpa},
          Output{kPortIn}},
         std::nullopt,
         {}}}},
      {"to another host over IPv4",
       "050e007800000007f1ea00000000000100000000000000000400000000000064ffffffffffffffffffffffff000"
       "00"
       "0000001001a8000060602000000000380004c080000000000000007000000000000000400280000000000190010"
       "00"
       "014004c00002010000000000000010000000020000000000000000",
       {Command::add,
        {4,
         100,
         kCookie,
         {exactly(kEthDst, mac("02:00:00:00:00:03")), exactly(kTunnelId, 7)},
         {SetField{exactly(kTunnelIpv4Dst, ip("192.0.2.1"))}, Output{2}},
         std::nullopt,
         {}}}},
      {"to another host over IPv6",
       "050e008000000007000000000000000000000000000000000400000000000064ffffffffffffffffffffffff000"
       "00"
       "0000001001a8000060602000000000480004c080000000000000007000000000000000400300000000000190018"
       "0001"
       "dc1020010db800000000000000000000000100000010000000020000000000000000",
       {Command::add,
        {4,
         100,
         0,
         {exactly(kEthDst, mac("02:00:00:00:00:04")), exactly(kTunnelId, 7)},
         {SetField{exactly(kTunnelIpv6Dst, ip("2001:db8::1"))}, Output{2}},
         std::nullopt,
         {}}}},
      {"resubmit",
       "050e005800000007000000000000000000000000000000000400000000000032ffffffffffffffffffffffff000"
       "00"
       "0000001001080004c0800000000000000070004001800000000ffff001000002320000efff805000000",
       {Command::add, {4, 50, 0, {exactly(kTunnelId, 7)}, {Resubmit{5}}, std::nullopt, {}}}},
      {"strict removal",
       "050e004000000007000000000000000000000000000000000404000000000032ffffffffffffffffffffffff000"
       "00"
       "0000001001080004c080000000000000007",
       {Command::remove_strict, {4, 50, 0, {exactly(kTunnelId, 7)}, {}, std::nullopt, {}}}},
      {"removal by cookie",
       "050e003800000007f1ea000000000001ffffffffffffffffff03000000008000ffffffffffffffffffffffff000"
       "00"
       "0000001000400000000",
       {Command::remove, {kAllTables, 0x8000, kCookie, {}, {}, std::nullopt, {}}, ~0ull}},
  };
}

// Flow changes are, byte for byte, what Open vSwitch's own tool sends, and read back as themselves.
TEST(OpenFlow, FlowChanges) {
  for (const FlowCase& c : flow_cases()) {
    const std::string bytes = from_hex(c.hex);
    EXPECT_EQ(encode_flow_mod(7, c.change), bytes) << c.name;
    const auto decoded = decode_flow_mod(std::string_view(bytes).substr(kHeaderBytes));
    ASSERT_TRUE(decoded) << c.name << ": " << decoded.error().to_string();
    EXPECT_EQ(*decoded, c.change) << c.name;
  }
}

// The tool orders fields otherwise than by number; the flow is the same.
TEST(OpenFlow, OrderOfFieldsDoesNotMatter) {
  const std::string bytes = from_hex(
      "050e00a000000006f1ea00000000000100000000000000000000000000000064ffffffffffffffffffffffff0000"
      "000"
      "00001004f80000004000000018000080602000000000180000a0286dd80003520fe8000000000000000000000000"
      "0000"
      "0ffc00000000000000000000000000000800014013a80003a018780003c010000000400180000000000190010800"
      "0"
      "4c0800000000000000070001000801000000");
  const auto decoded = decode_flow_mod(std::string_view(bytes).substr(kHeaderBytes));
  ASSERT_TRUE(decoded);
  const Flow wanted{0,
                    100,
                    kCookie,
                    {exactly(kInPort, 1), exactly(kEthSrc, mac("02:00:00:00:00:01")),
                     exactly(kEthType, kEthTypeIpv6), exactly(kIpProto, 58),
                     within(kIpv6Src, *Cidr::parse("fe80::/10")), exactly(kIcmpv6Type, 135),
                     exactly(kIcmpv6Code, 0)},
                    {SetField{exactly(kTunnelId, 7)}},
                    1,
                    {}};
  EXPECT_EQ(decoded->flow, wanted);
}

// A switch refuses a field of Nicira's that comes before the one of OpenFlow's own that it needs.
TEST(OpenFlow, FieldsFollowWhatTheyNeed) {
  FlowMod change{.command = Command::add, .flow = {}};
  change.flow.match = {with_bits(kIpFragment, kAnyFragment), exactly(kIpTtl, 255),
                       exactly(kEthType, kEthTypeIpv6)};
  const std::string bytes = encode_flow_mod(7, change);
  const std::string fields = from_hex("80000a0286dd00013502010100013a01ff");
  EXPECT_NE(bytes.find(fields), std::string::npos);
  const auto decoded = decode_flow_mod(std::string_view(bytes).substr(kHeaderBytes));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->flow.match, change.flow.match);
}

// A dump of flows, as the switch answers it, cut at every byte: refused or part of it, never more.
TEST(OpenFlow, FlowStatistics) {
  const std::string bytes = from_hex(
      "05130100000000020001000000000000"
      "007803000000000000b71b0000640000000000000000000000000000000000000000000000000000000000000000"
      "00"
      "000001001480000a0286dd800014013a80003a0188000000000004003000000000ffff0018000023200006003000"
      "00"
      "0000000004060001320600000010fffffff80000000000000000"
      "008004000000000000b71b0000640000000000000000000000000000000000000000000000000000000000000000"
      "00"
      "000001001a8000060602000000000480004c08000000000000000700000000000000040030000000000019001800"
      "01"
      "dc1020010db800000000000000000000000100000010000000020000000000000000");
  const std::string_view body = std::string_view(bytes).substr(kHeaderBytes);
  const auto stats = decode_flow_stats_reply(body);
  ASSERT_TRUE(stats) << stats.error().to_string();
  EXPECT_FALSE(stats->more);
  ASSERT_EQ(stats->flows.size(), 2u);
  EXPECT_EQ(stats->flows[0], flow_cases()[2].change.flow);
  EXPECT_EQ(stats->flows[1], flow_cases()[5].change.flow);
  for (std::size_t length = 0; length < body.size(); ++length) {
    const auto part = decode_flow_stats_reply(body.substr(0, length));
    if (part) EXPECT_LT(part->flows.size(), 2u) << length;
  }
}

// Somebody else's timeouts, instructions and actions make a flow differ from ours.
TEST(OpenFlow, UnknownPartsAreKept) {
  // actions=output:77,group:9
  const std::string bytes = from_hex(
      "050e005800000006000000000000000000000000000000000900000000008000ffffffffffffffffffffffff0000"
      "00"
      "0000010004000000000004002000000000000000100000004d00000000000000000016000800000009");
  const auto group = decode_flow_mod(std::string_view(bytes).substr(kHeaderBytes));
  ASSERT_TRUE(group);
  ASSERT_EQ(group->flow.actions.size(), 2u);
  EXPECT_EQ(group->flow.actions[0], Action(Output{77}));
  EXPECT_TRUE(std::holds_alternative<OtherAction>(group->flow.actions[1]));
  std::string timeout = bytes;
  timeout[27] = 9;  // idle timeout
  const auto limited = decode_flow_mod(std::string_view(timeout).substr(kHeaderBytes));
  ASSERT_TRUE(limited);
  EXPECT_NE(limited->flow, group->flow);
}

// The rest of a session: greeting, bundle, barrier and what a switch says when it refuses.
TEST(OpenFlow, Session) {
  EXPECT_EQ(encode_hello(1), from_hex("05000010000000010001000800000020"));
  EXPECT_EQ(encode_bundle_control(16, {0, BundleStep::open_request}),
            from_hex("05210010000000100000000000000003"));
  EXPECT_EQ(encode_bundle_control(18, {0, BundleStep::commit_request}),
            from_hex("05210010000000120000000000040003"));
  EXPECT_EQ(encode_barrier_request(17), from_hex("0514000800000011"));
  EXPECT_EQ(
      encode_flow_stats_request(2, 0, 0),
      from_hex("05120038000000020001000000000000ff000000ffffffffffffffff00000000000000000000000"
               "000000000000000000001000400000000"));
  const std::string inner = from_hex(flow_cases()[7].hex);
  EXPECT_EQ(encode_bundle_add(7, 0, inner), from_hex("05220050000000070000000000000003") + inner);

  MessageReader reader;
  for (const char byte : from_hex("060000080000000d"
                                  "05210010000000120000000000050000"
                                  "0501001c000000090011000d05210010000000090000000000040003"))
    reader.append({&byte, 1});
  const auto hello = reader.next();
  ASSERT_TRUE(hello && *hello);
  EXPECT_TRUE(offers_version(**hello));  // 1.5, and without a bitmap all before it
  const auto committed = reader.next();
  ASSERT_TRUE(committed && *committed);
  EXPECT_EQ((*committed)->xid, 18u);
  EXPECT_EQ(decode_bundle_control((*committed)->body)->step, BundleStep::commit_reply);
  const auto refused = reader.next();
  ASSERT_TRUE(refused && *refused);
  EXPECT_EQ((*refused)->type, Type::error);
  EXPECT_EQ(*decode_error((*refused)->body), (Failure{17, 13}));
  EXPECT_EQ(decode_error((*refused)->body)->text(), "bundle failed (type 17, code 13)");
  EXPECT_FALSE(reader.next()->has_value());
}

// A length that cannot be ends the stream.
TEST(OpenFlow, RefusesBadLengths) {
  MessageReader reader;
  reader.append(from_hex("0500000700000001"));
  EXPECT_FALSE(reader.next());
  const Message old{.version = 4, .type = Type::hello, .xid = 1, .body = {}};
  EXPECT_FALSE(offers_version(old));
}

}  // namespace
}  // namespace fairlead::wire::openflow
