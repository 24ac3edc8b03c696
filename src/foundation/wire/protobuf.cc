#include "foundation/wire/protobuf.h"

namespace fairlead::wire {
namespace {

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr std::uint32_t kMaxField = (1U << 29) - 1;
constexpr std::size_t kMaxVarint = 10;

void append_tag(std::string& out, std::uint32_t field, WireType type) {
  append_varint(out, (static_cast<std::uint64_t>(field) << 3) | type);
}

}  // namespace

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < bytes.size() && i < kMaxVarint; ++i) {
    const std::uint64_t byte = static_cast<unsigned char>(bytes[i]);
    if (i == kMaxVarint - 1 && byte > 1) return false;  // more than 64 bits
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = result;
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void ProtoWriter::number(std::uint32_t field, std::uint64_t value) {
  if (value == 0) return;
  append_tag(out_, field, kVarint);
  append_varint(out_, value);
}

void ProtoWriter::signed_number(std::uint32_t field, std::int64_t value) {
  number(field, static_cast<std::uint64_t>(value));
}

void ProtoWriter::boolean(std::uint32_t field, bool value) { number(field, value ? 1 : 0); }

void ProtoWriter::bytes(std::uint32_t field, std::string_view value) {
  if (!value.empty()) present_bytes(field, value);
}

void ProtoWriter::present_signed_number(std::uint32_t field, std::int64_t value) {
  append_tag(out_, field, kVarint);
  append_varint(out_, static_cast<std::uint64_t>(value));
}

void ProtoWriter::present_bytes(std::uint32_t field, std::string_view value) {
  append_tag(out_, field, kBytes);
  append_varint(out_, value.size());
  out_.append(value);
}

std::size_t ProtoWriter::begin_message(std::uint32_t field) {
  append_tag(out_, field, kBytes);
  return out_.size();
}

// The length is known only now. Most sub-messages are short, so moving them up by the length's own
// one or two bytes costs less than measuring them first.
void ProtoWriter::end_message(std::size_t start) {
  std::string length;
  append_varint(length, out_.size() - start);
  out_.insert(start, length);
}

bool ProtoReader::broken() {
  ok_ = false;
  rest_ = {};
  field_ = 0;
  return false;
}

bool ProtoReader::take_fixed(std::size_t width) {
  if (rest_.size() < width) return broken();
  for (std::size_t i = 0; i < width; ++i)
    number_ |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  rest_.remove_prefix(width);
  return true;
}

bool ProtoReader::next() {
  number_ = 0;
  bytes_ = {};
  if (!ok_ || rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!take_varint(rest_, tag)) return broken();
  const std::uint64_t field = tag >> 3;
  if (field == 0 || field > kMaxField) return broken();
  field_ = static_cast<std::uint32_t>(field);
  switch (tag & 7) {
    case kVarint:
      return take_varint(rest_, number_) || broken();
    case kFixed64:
      return take_fixed(8);
    case kFixed32:
      return take_fixed(4);
    case kBytes: {
      std::uint64_t length = 0;
      if (!take_varint(rest_, length) || length > rest_.size()) return broken();
      bytes_ = rest_.substr(0, length);
      rest_.remove_prefix(length);
      return true;
    }
    default:
      return broken();
  }
}

}  // namespace fairlead::wire
