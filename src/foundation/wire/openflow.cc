#include "foundation/wire/openflow.h"

#include <fmt/format.h>

#include "foundation/base/check.h"
#include "foundation/wire/openflow_fields.h"

namespace fairlead::wire::openflow {
namespace {

constexpr std::uint16_t kMultipartFlow = 1;
constexpr std::uint16_t kMultipartMore = 1;
constexpr std::uint32_t kNoBuffer = 0xffffffff;
constexpr std::uint32_t kAnyGroup = 0xffffffff;
constexpr std::uint16_t kAtomicOrdered = 3;
constexpr std::uint16_t kHelloBitmap = 1;

// A message is begun, its body appended, and its length filled in.
std::string begin(Type type, std::uint32_t xid) {
  std::string out;
  put(out, kVersion, 1);
  put(out, static_cast<std::uint8_t>(type), 1);
  put(out, 0, 2);
  put(out, xid, 4);
  return out;
}

std::string finish(std::string out) {
  CHECK(out.size() <= 0xffff);
  patch16(out, 2, out.size());
  return out;
}

Error cut_short(std::string_view what) {
  return {Code::corrupt, fmt::format("openflow: {} cut short", what)};
}

Result<Flow> decode_stats_entry(std::string_view bytes) {
  Reader reader(bytes);
  Flow flow;
  flow.table = static_cast<std::uint8_t>(reader.number(1));
  reader.bytes(1 + 8);  // padding, age
  flow.priority = static_cast<std::uint16_t>(reader.number(2));
  const std::string_view limits = reader.bytes(2 + 2 + 2);  // idle and hard timeout, flags
  reader.bytes(2 + 2);                                      // importance, padding
  flow.cookie = reader.number(8);
  reader.bytes(8 + 8);  // packets, bytes
  FL_TRY(flow.match, decode_match(reader));
  FL_CHECKED(decode_instructions(reader.bytes(reader.left()), flow));
  if (limits != std::string_view("\0\0\0\0\0\0", 6)) flow.other += limits;
  return flow;
}

}  // namespace

std::string canonical_bytes(const Flow& flow) {
  std::string out;
  put(out, flow.table, 1);
  put(out, flow.priority, 2);
  encode_match(out, flow.match);
  encode_instructions(out, flow);
  return out + flow.other;
}

void MessageReader::append(std::string_view piece) {
  buffer_.erase(0, start_);
  start_ = 0;
  buffer_ += piece;
}

Result<std::optional<Message>> MessageReader::next() {
  const std::string_view bytes = std::string_view(buffer_).substr(start_);
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  Reader reader(bytes);
  Message message;
  message.version = static_cast<std::uint8_t>(reader.number(1));
  message.type = static_cast<Type>(reader.number(1));
  const std::size_t length = reader.number(2);
  message.xid = static_cast<std::uint32_t>(reader.number(4));
  if (length < kHeaderBytes) return fail(Code::corrupt, "openflow: length of a message");
  if (bytes.size() < length) return std::nullopt;
  message.body = bytes.substr(kHeaderBytes, length - kHeaderBytes);
  start_ += length;
  return message;
}

std::string encode_hello(std::uint32_t xid) {
  std::string out = begin(Type::hello, xid);
  put(out, kHelloBitmap, 2);
  put(out, 8, 2);
  put(out, 1u << kVersion, 4);
  return finish(std::move(out));
}

std::string encode_echo_reply(std::uint32_t xid, std::string_view payload) {
  std::string out = begin(Type::echo_reply, xid);
  out += payload;
  return finish(std::move(out));
}

std::string encode_barrier_request(std::uint32_t xid) {
  return finish(begin(Type::barrier_request, xid));
}

std::string encode_flow_mod(std::uint32_t xid, const FlowMod& change) {
  std::string out = begin(Type::flow_mod, xid);
  put(out, change.flow.cookie, 8);
  put(out, change.cookie_mask, 8);
  put(out, change.flow.table, 1);
  put(out, static_cast<std::uint8_t>(change.command), 1);
  put(out, 0, 4);  // idle and hard timeout: stays
  put(out, change.flow.priority, 2);
  put(out, kNoBuffer, 4);
  put(out, kPortAny, 4);
  put(out, kAnyGroup, 4);
  put(out, 0, 4);  // flags, importance
  encode_match(out, change.flow.match);
  encode_instructions(out, change.flow);
  return finish(std::move(out));
}

std::string encode_flow_stats_request(std::uint32_t xid, std::uint64_t cookie, std::uint64_t mask) {
  std::string out = begin(Type::multipart_request, xid);
  put(out, kMultipartFlow, 2);
  put(out, 0, 6);  // flags, padding
  put(out, kAllTables, 1);
  put(out, 0, 3);
  put(out, kPortAny, 4);
  put(out, kAnyGroup, 4);
  put(out, 0, 4);
  put(out, cookie, 8);
  put(out, mask, 8);
  encode_match(out, {});
  return finish(std::move(out));
}

std::string encode_bundle_control(std::uint32_t xid, const BundleControl& control) {
  std::string out = begin(Type::bundle_control, xid);
  put(out, control.bundle, 4);
  put(out, static_cast<std::uint16_t>(control.step), 2);
  put(out, kAtomicOrdered, 2);
  return finish(std::move(out));
}

std::string encode_bundle_add(std::uint32_t xid, std::uint32_t bundle, std::string_view message) {
  std::string out = begin(Type::bundle_add, xid);
  put(out, bundle, 4);
  put(out, 0, 2);
  put(out, kAtomicOrdered, 2);
  out += message;
  return finish(std::move(out));
}

bool offers_version(const Message& hello) {
  Reader reader(hello.body);
  while (reader.left() >= 4) {
    const auto type = reader.number(2);
    const std::size_t length = reader.number(2);
    if (length < 4) return false;
    const std::size_t take = std::min(padded(length) - 4, reader.left());
    Reader element(reader.bytes(take));
    if (type == kHelloBitmap) return element.number(4) >> kVersion & 1;
  }
  return hello.version >= kVersion;  // without a bitmap: this version and all below
}

std::string Failure::text() const {
  static constexpr std::string_view kNames[] = {
      "hello failed",        "bad request",   "bad action",    "bad instruction", "bad match",
      "flow refused",        "group refused", "port refused",  "table refused",   "queue failed",
      "switch config",       "role refused",  "meter refused", "table features",  "bad property",
      "asynchronous config", "flow monitor",  "bundle failed"};
  const std::string_view name = type < std::size(kNames) ? kNames[type] : "error";
  return fmt::format("{} (type {}, code {})", name, type, code);
}

Result<Failure> decode_error(std::string_view body) {
  Reader reader(body);
  Failure failure;
  failure.type = static_cast<std::uint16_t>(reader.number(2));
  failure.code = static_cast<std::uint16_t>(reader.number(2));
  if (!reader.ok()) return fail(cut_short("error"));
  return failure;
}

Result<FlowStats> decode_flow_stats_reply(std::string_view body) {
  Reader reader(body);
  const auto type = reader.number(2);
  const auto flags = reader.number(2);
  reader.bytes(4);
  if (!reader.ok()) return fail(cut_short("multipart reply"));
  if (type != kMultipartFlow) return fail(Code::unsupported, "openflow: not flow statistics");
  FlowStats stats;
  stats.more = flags & kMultipartMore;
  while (!reader.empty()) {
    const std::size_t length = reader.number(2);
    if (length < 2) return fail(Code::corrupt, "openflow: length of flow statistics");
    const std::string_view entry = reader.bytes(length - 2);
    if (!reader.ok()) return fail(cut_short("flow statistics"));
    FL_TRY(Flow flow, decode_stats_entry(entry));
    stats.flows.push_back(std::move(flow));
  }
  return stats;
}

Result<FlowMod> decode_flow_mod(std::string_view body) {
  Reader reader(body);
  FlowMod change;
  change.flow.cookie = reader.number(8);
  change.cookie_mask = reader.number(8);
  change.flow.table = static_cast<std::uint8_t>(reader.number(1));
  const auto command = reader.number(1);
  if (command > static_cast<std::uint8_t>(Command::remove_strict))
    return fail(Code::corrupt, "openflow: command of a flow change");
  change.command = static_cast<Command>(command);
  const std::string_view timeouts = reader.bytes(4);
  change.flow.priority = static_cast<std::uint16_t>(reader.number(2));
  reader.bytes(4 + 4 + 4);  // buffer, port, group
  const std::string_view flags = reader.bytes(2);
  reader.bytes(2);  // importance
  if (!reader.ok()) return fail(cut_short("flow change"));
  FL_TRY(change.flow.match, decode_match(reader));
  FL_CHECKED(decode_instructions(reader.bytes(reader.left()), change.flow));
  const std::string limits = std::string(timeouts) + std::string(flags);
  if (limits.find_first_not_of('\0') != std::string::npos) change.flow.other += limits;
  return change;
}

Result<BundleControl> decode_bundle_control(std::string_view body) {
  Reader reader(body);
  BundleControl control;
  control.bundle = static_cast<std::uint32_t>(reader.number(4));
  control.step = static_cast<BundleStep>(reader.number(2));
  if (!reader.ok()) return fail(cut_short("bundle control"));
  return control;
}

}  // namespace fairlead::wire::openflow
