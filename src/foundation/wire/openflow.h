// OpenFlow 1.4 as bytes: the messages that a fabric needs to program a bridge of Open vSwitch and
// to see what it holds. 1.4 because its bundles are in the standard and every Open vSwitch since
// 2.8 speaks it unasked; fields and actions beyond the standard are Open vSwitch's (NXM).
//
// Pure. The decoders take bytes from a peer: they never read past them, and refuse with corrupt
// what breaks the format. Fields, actions and instructions that are not known here are kept as
// bytes, so that whoever compares flows sees that they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/base/ip.h"
#include "foundation/base/result.h"

namespace fairlead::wire::openflow {

constexpr std::uint8_t kVersion = 5;  // OpenFlow 1.4
constexpr std::size_t kHeaderBytes = 8;

enum class Type : std::uint8_t {
  hello = 0,
  error = 1,
  echo_request = 2,
  echo_reply = 3,
  features_request = 5,
  features_reply = 6,
  flow_mod = 14,
  multipart_request = 18,
  multipart_reply = 19,
  barrier_request = 20,
  barrier_reply = 21,
  bundle_control = 33,
  bundle_add = 34,
};

// Ports with a meaning of their own.
constexpr std::uint32_t kPortIn = 0xfffffff8;  // out where it came in
constexpr std::uint32_t kPortAny = 0xffffffff;
constexpr std::uint8_t kAllTables = 0xff;

// One message: header and the bytes after it.
struct Message {
  std::uint8_t version = kVersion;
  Type type = Type::hello;
  std::uint32_t xid = 0;
  std::string_view body;
};

// Cuts a stream into messages.
class MessageReader {
 public:
  void append(std::string_view piece);
  // The next whole message, valid until the next append(); nullopt when more bytes are needed.
  // Fails with corrupt on a length that cannot be; every later call then fails too.
  Result<std::optional<Message>> next();

 private:
  std::string buffer_;
  std::size_t start_ = 0;
};

// A header field of a packet, or something that travels with it: what OpenFlow calls OXM.
struct FieldId {
  std::uint16_t oxm_class = 0;
  std::uint8_t number = 0;
  std::uint8_t bytes = 0;
  auto operator<=>(const FieldId&) const = default;
};

constexpr FieldId kInPort{0x8000, 0, 4};
constexpr FieldId kEthDst{0x8000, 3, 6};
constexpr FieldId kEthSrc{0x8000, 4, 6};
constexpr FieldId kEthType{0x8000, 5, 2};
constexpr FieldId kVlanVid{0x8000, 6, 2};
constexpr FieldId kIpProto{0x8000, 10, 1};
constexpr FieldId kIpv4Src{0x8000, 11, 4};
constexpr FieldId kArpOp{0x8000, 21, 2};
constexpr FieldId kArpSpa{0x8000, 22, 4};
constexpr FieldId kArpTpa{0x8000, 23, 4};
constexpr FieldId kArpSha{0x8000, 24, 6};
constexpr FieldId kArpTha{0x8000, 25, 6};
constexpr FieldId kIpv6Src{0x8000, 26, 16};
constexpr FieldId kIpv6Dst{0x8000, 27, 16};
constexpr FieldId kIcmpv6Type{0x8000, 29, 1};
constexpr FieldId kIcmpv6Code{0x8000, 30, 1};
constexpr FieldId kNdTarget{0x8000, 31, 16};
constexpr FieldId kNdTargetMac{0x8000, 33, 6};
constexpr FieldId kTunnelId{0x8000, 38, 8};
constexpr FieldId kIpFragment{0x0001, 26, 1};
constexpr FieldId kIpTtl{0x0001, 29, 1};  // of IPv6: the hop limit
constexpr FieldId kTunnelIpv4Src{0x0001, 31, 4};
constexpr FieldId kTunnelIpv4Dst{0x0001, 32, 4};
constexpr FieldId kTunnelIpv6Src{0x0001, 109, 16};
constexpr FieldId kTunnelIpv6Dst{0x0001, 110, 16};
constexpr FieldId kRegister0{0x0001, 0, 4};
constexpr FieldId kNdReserved{0x1000, 1, 4};    // the flags of an advertisement
constexpr FieldId kNdOptionType{0x1000, 2, 1};  // of the first option

constexpr std::uint16_t kVlanTagged = 0x1000;  // in kVlanVid
constexpr std::uint8_t kAnyFragment = 1;       // in kIpFragment: also the first

constexpr std::uint16_t kEthTypeArp = 0x0806;
constexpr std::uint16_t kEthTypeIpv4 = 0x0800;
constexpr std::uint16_t kEthTypeIpv6 = 0x86dd;

struct Field {
  FieldId id;
  std::string value;  // id.bytes of them, as on the wire
  std::string mask;   // empty: all bits count
  auto operator<=>(const Field&) const = default;
};

Field exactly(FieldId id, std::uint64_t value);
Field exactly(FieldId id, const Mac& value);
// REQUIRES: an address of the field's width.
Field exactly(FieldId id, const Ip& value);
Field within(FieldId id, const Cidr& block);
// All of these bits are set, whatever the others are.
Field with_bits(FieldId id, std::uint64_t bits);

// Sorted by field.
using Match = std::vector<Field>;

struct Output {
  std::uint32_t port = 0;
  bool operator==(const Output&) const = default;
};
struct SetField {
  Field field;
  bool operator==(const SetField&) const = default;
};
// Fills a whole field from another, of which it takes the lowest bits. REQUIRES when made: the
// other is as wide, or wider.
struct Move {
  FieldId from;
  FieldId to;
  bool operator==(const Move&) const = default;
};
struct Resubmit {
  std::uint8_t table = 0;
  bool operator==(const Resubmit&) const = default;
};
struct OtherAction {
  std::string bytes;  // header included
  bool operator==(const OtherAction&) const = default;
};
using Action = std::variant<Output, SetField, Move, Resubmit, OtherAction>;

struct Flow {
  std::uint8_t table = 0;
  std::uint16_t priority = 0;
  std::uint64_t cookie = 0;
  Match match;
  std::vector<Action> actions;  // none and no goto: dropped
  std::optional<std::uint8_t> goto_table;
  std::string other;  // timeouts, flags and instructions that are not understood here
  bool operator==(const Flow&) const = default;
};

// Equal for equal flows, whatever their cookies, and only for them.
std::string canonical_bytes(const Flow& flow);

enum class Command : std::uint8_t {
  add = 0,
  modify = 1,
  modify_strict = 2,
  remove = 3,
  remove_strict = 4,
};

struct FlowMod {
  Command command = Command::add;
  Flow flow;
  std::uint64_t cookie_mask = 0;
  bool operator==(const FlowMod&) const = default;
};

std::string encode_hello(std::uint32_t xid);
std::string encode_echo_reply(std::uint32_t xid, std::string_view payload);
std::string encode_barrier_request(std::uint32_t xid);
std::string encode_flow_mod(std::uint32_t xid, const FlowMod& change);
// Flows of all tables whose cookie agrees with `cookie` in the bits of `mask`.
std::string encode_flow_stats_request(std::uint32_t xid, std::uint64_t cookie, std::uint64_t mask);

enum class BundleStep : std::uint16_t {
  open_request = 0,
  open_reply = 1,
  close_request = 2,
  close_reply = 3,
  commit_request = 4,
  commit_reply = 5,
  discard_request = 6,
  discard_reply = 7,
};
struct BundleControl {
  std::uint32_t bundle = 0;
  BundleStep step = BundleStep::open_request;
  bool operator==(const BundleControl&) const = default;
};
// All or nothing, in order.
std::string encode_bundle_control(std::uint32_t xid, const BundleControl& control);
// `message` must carry the same xid.
std::string encode_bundle_add(std::uint32_t xid, std::uint32_t bundle, std::string_view message);

// The versions that the other side offers include ours.
bool offers_version(const Message& hello);

struct Failure {
  std::uint16_t type = 0;
  std::uint16_t code = 0;
  std::string text() const;  // "bad action (2), code 5"
  bool operator==(const Failure&) const = default;
};
Result<Failure> decode_error(std::string_view body);

struct FlowStats {
  std::vector<Flow> flows;
  bool more = false;  // another reply with this xid follows
};
// Fails with unsupported for a multipart reply of another kind.
Result<FlowStats> decode_flow_stats_reply(std::string_view body);
Result<FlowMod> decode_flow_mod(std::string_view body);
Result<BundleControl> decode_bundle_control(std::string_view body);

}  // namespace fairlead::wire::openflow
