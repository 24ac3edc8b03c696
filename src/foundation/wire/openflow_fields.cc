#include "foundation/wire/openflow_fields.h"

#include <algorithm>

#include "foundation/base/check.h"

namespace fairlead::wire::openflow {
namespace {

constexpr std::uint32_t kNicira = 0x00002320;
constexpr std::uint16_t kActionOutput = 0;
constexpr std::uint16_t kActionSetField = 25;
constexpr std::uint16_t kActionExperimenter = 0xffff;
constexpr std::uint16_t kNiciraMove = 6;
constexpr std::uint16_t kNiciraResubmit = 14;
constexpr std::uint16_t kNiciraInPort = 0xfff8;
constexpr std::uint16_t kInstructionGoto = 1;
constexpr std::uint16_t kInstructionApply = 4;
constexpr std::uint16_t kMatchOxm = 1;
constexpr std::uint16_t kOpenFlowClass = 0x8000;

void put_field_header(std::string& out, FieldId id, bool masked) {
  put(out, id.oxm_class, 2);
  put(out, static_cast<std::uint64_t>(id.number << 1 | (masked ? 1 : 0)), 1);
  put(out, static_cast<std::uint64_t>(masked ? 2 * id.bytes : id.bytes), 1);
}

void put_field(std::string& out, const Field& field) {
  put_field_header(out, field.id, !field.mask.empty());
  out += field.value;
  out += field.mask;
}

struct FieldHeader {
  FieldId id;
  bool masked = false;
  std::size_t length = 0;
};

FieldHeader take_field_header(Reader& reader) {
  FieldHeader header;
  header.id.oxm_class = static_cast<std::uint16_t>(reader.number(2));
  const auto number = static_cast<std::uint8_t>(reader.number(1));
  header.id.number = number >> 1;
  header.masked = number & 1;
  header.length = reader.number(1);
  header.id.bytes = static_cast<std::uint8_t>(header.masked ? header.length / 2 : header.length);
  return header;
}

Result<Field> take_field(Reader& reader) {
  const FieldHeader header = take_field_header(reader);
  if (header.masked && header.length % 2 != 0)
    return fail(Code::corrupt, "openflow: odd length of a masked field");
  Field field{.id = header.id, .value = std::string(reader.bytes(header.id.bytes)), .mask = {}};
  if (header.masked) field.mask = reader.bytes(header.id.bytes);
  if (!reader.ok()) return fail(Code::corrupt, "openflow: field cut short");
  // All bits count, or are said to: the same.
  if (std::ranges::all_of(field.mask, [](char c) { return c == '\xff'; })) field.mask.clear();
  return field;
}

// Open vSwitch names the fields of a move by its own older numbers where there are any.
struct Alias {
  FieldId standard;
  FieldId nicira;
};
constexpr Alias kAliases[] = {
    {kEthDst, {0x0000, 1, 6}},     {kEthSrc, {0x0000, 2, 6}},       {kArpOp, {0x0000, 15, 2}},
    {kArpSpa, {0x0000, 16, 4}},    {kArpTpa, {0x0000, 17, 4}},      {kArpSha, {0x0001, 17, 6}},
    {kArpTha, {0x0001, 18, 6}},    {kIpv6Src, {0x0001, 19, 16}},    {kIpv6Dst, {0x0001, 20, 16}},
    {kNdTarget, {0x0001, 23, 16}}, {kNdTargetMac, {0x0001, 25, 6}},
};

FieldId nicira_of(FieldId id) {
  const auto found = std::ranges::find(kAliases, id, &Alias::standard);
  return found == std::end(kAliases) ? id : found->nicira;
}

FieldId standard_of(FieldId id) {
  const auto found = std::ranges::find(kAliases, id, &Alias::nicira);
  return found == std::end(kAliases) ? id : found->standard;
}

struct ActionWriter {
  std::string& out;

  void operator()(const Output& output) const {
    put(out, kActionOutput, 2);
    put(out, 16, 2);
    put(out, output.port, 4);
    put(out, 0, 8);  // of a packet to the controller: nothing
  }
  void operator()(const SetField& set) const {
    const std::size_t start = out.size();
    put(out, kActionSetField, 2);
    put(out, 0, 2);
    put_field(out, set.field);
    out.resize(start + padded(out.size() - start));
    patch16(out, start + 2, out.size() - start);
  }
  void operator()(const Move& move) const {
    CHECK(move.from.bytes >= move.to.bytes);
    put(out, kActionExperimenter, 2);
    put(out, 24, 2);
    put(out, kNicira, 4);
    put(out, kNiciraMove, 2);
    put(out, move.to.bytes * 8u, 2);
    put(out, 0, 4);  // offsets in both fields
    put_field_header(out, nicira_of(move.from), false);
    put_field_header(out, nicira_of(move.to), false);
  }
  void operator()(const Resubmit& resubmit) const {
    put(out, kActionExperimenter, 2);
    put(out, 16, 2);
    put(out, kNicira, 4);
    put(out, kNiciraResubmit, 2);
    put(out, kNiciraInPort, 2);
    put(out, resubmit.table, 1);
    put(out, 0, 3);
  }
  void operator()(const OtherAction& other) const { out += other.bytes; }
};

bool all_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

// What is exactly of the form that ActionWriter writes; everything else stays bytes.
std::optional<Action> known_nicira_action(Reader reader) {
  if (reader.number(4) != kNicira) return std::nullopt;
  const auto subtype = reader.number(2);
  if (subtype == kNiciraResubmit && reader.left() == 6) {
    const auto port = reader.number(2);
    const auto table = static_cast<std::uint8_t>(reader.number(1));
    if (port != kNiciraInPort || !all_zero(reader.bytes(3))) return std::nullopt;
    return Resubmit{table};
  }
  if (subtype == kNiciraMove && reader.left() == 14) {
    const auto bits = reader.number(2);
    const auto offsets = reader.number(4);
    const FieldHeader from = take_field_header(reader);
    const FieldHeader to = take_field_header(reader);
    if (offsets != 0 || from.masked || to.masked) return std::nullopt;
    if (bits != to.id.bytes * 8u || bits > from.id.bytes * 8u) return std::nullopt;
    return Move{standard_of(from.id), standard_of(to.id)};
  }
  return std::nullopt;
}

std::optional<Action> known_action(std::uint16_t type, std::string_view body) {
  Reader reader(body);
  if (type == kActionOutput && body.size() == 12) {
    const Output output{static_cast<std::uint32_t>(reader.number(4))};
    reader.number(2);  // how much a controller would see
    if (!all_zero(reader.bytes(6))) return std::nullopt;
    return output;
  }
  if (type == kActionSetField) {
    auto field = take_field(reader);
    if (!field || reader.left() >= 8 || !all_zero(reader.bytes(reader.left()))) return std::nullopt;
    return SetField{std::move(*field)};
  }
  if (type == kActionExperimenter) return known_nicira_action(reader);
  return std::nullopt;
}

Result<std::vector<Action>> decode_actions(std::string_view bytes) {
  std::vector<Action> actions;
  while (!bytes.empty()) {
    Reader reader(bytes);
    const auto type = static_cast<std::uint16_t>(reader.number(2));
    const std::size_t length = reader.number(2);
    if (length < 8 || length % 8 != 0 || length > bytes.size())
      return fail(Code::corrupt, "openflow: length of an action");
    auto action = known_action(type, bytes.substr(4, length - 4));
    if (!action) action = OtherAction{std::string(bytes.substr(0, length))};
    actions.push_back(std::move(*action));
    bytes.remove_prefix(length);
  }
  return actions;
}

}  // namespace

Field exactly(FieldId id, std::uint64_t value) {
  Field field{.id = id, .value = {}, .mask = {}};
  put(field.value, value, id.bytes);
  return field;
}

Field exactly(FieldId id, const Mac& value) {
  CHECK(id.bytes == 6);
  return {.id = id, .value = std::string(value.bytes().begin(), value.bytes().end()), .mask = {}};
}

Field exactly(FieldId id, const Ip& value) {
  CHECK(id.bytes == (value.is_v4() ? 4 : 16));
  return {.id = id,
          .value = std::string(value.bytes().end() - id.bytes, value.bytes().end()),
          .mask = {}};
}

Field with_bits(FieldId id, std::uint64_t bits) {
  Field field = exactly(id, bits);
  field.mask = field.value;
  return field;
}

Field within(FieldId id, const Cidr& block) {
  Field field = exactly(id, block.base());
  if (block.prefix() == block.base().width()) return field;
  for (int bit = 0; bit < block.base().width(); bit += 8) {
    const int ones = std::clamp(block.prefix() - bit, 0, 8);
    field.mask += static_cast<char>(0xff << (8 - ones));
  }
  return field;
}

void encode_match(std::string& out, const Match& match) {
  const std::size_t start = out.size();
  put(out, kMatchOxm, 2);
  put(out, 0, 2);
  // OpenFlow's own fields first: others need them to be there before.
  for (const bool own : {true, false})
    for (const Field& field : match)
      if ((field.id.oxm_class == kOpenFlowClass) == own) put_field(out, field);
  const std::size_t length = out.size() - start;
  patch16(out, start + 2, length);
  out.resize(start + padded(length));
}

Result<Match> decode_match(Reader& reader) {
  const auto type = reader.number(2);
  const std::size_t length = reader.number(2);
  if (!reader.ok() || type != kMatchOxm || length < 4)
    return fail(Code::corrupt, "openflow: head of a match");
  Reader fields(reader.bytes(length - 4));
  reader.bytes(padded(length) - length);
  if (!reader.ok()) return fail(Code::corrupt, "openflow: match cut short");
  Match match;
  while (!fields.empty()) {
    FL_TRY(Field field, take_field(fields));
    match.push_back(std::move(field));
  }
  std::ranges::sort(match);
  return match;
}

void encode_instructions(std::string& out, const Flow& flow) {
  if (!flow.actions.empty()) {
    const std::size_t start = out.size();
    put(out, kInstructionApply, 2);
    put(out, 0, 2);
    put(out, 0, 4);
    for (const Action& action : flow.actions) std::visit(ActionWriter{out}, action);
    patch16(out, start + 2, out.size() - start);
  }
  if (flow.goto_table) {
    put(out, kInstructionGoto, 2);
    put(out, 8, 2);
    put(out, *flow.goto_table, 1);
    put(out, 0, 3);
  }
}

Result<> decode_instructions(std::string_view bytes, Flow& flow) {
  while (!bytes.empty()) {
    Reader reader(bytes);
    const auto type = reader.number(2);
    const std::size_t length = reader.number(2);
    if (length < 8 || length % 8 != 0 || length > bytes.size())
      return fail(Code::corrupt, "openflow: length of an instruction");
    const std::string_view whole = bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (type == kInstructionGoto && length == 8 && !flow.goto_table) {
      flow.goto_table = static_cast<std::uint8_t>(reader.number(1));
    } else if (type == kInstructionApply && flow.actions.empty()) {
      FL_TRY(flow.actions, decode_actions(whole.substr(8)));
    } else {
      flow.other += whole;
    }
  }
  return {};
}

}  // namespace fairlead::wire::openflow
