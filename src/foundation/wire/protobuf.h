// The protobuf wire format, as much of it as the messages of etcd need: varints and
// length-delimited fields, written and read field by field. There is no schema here and no
// generated code; a message type (foundation/wire/etcd.h) lists its own field numbers.
//
// The reader takes bytes from a peer: it never reads past them, never allocates, and ends at the
// first byte that breaks the format. What it hands out are views into the bytes it was given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead::wire {

// Appends to `out` what a proto3 encoder would write: fields that hold their default are left out,
// unless the name says otherwise.
class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  void number(std::uint32_t field, std::uint64_t value);
  void signed_number(std::uint32_t field, std::int64_t value);  // int64: ten bytes if negative
  void boolean(std::uint32_t field, bool value);
  void bytes(std::uint32_t field, std::string_view value);
  // Written even when zero or empty: members of a oneof and sub-messages.
  void present_signed_number(std::uint32_t field, std::int64_t value);
  void present_bytes(std::uint32_t field, std::string_view value);

  // A sub-message, written by `write(ProtoWriter&)` straight into the output.
  template <class Write>
  void message(std::uint32_t field, Write write) {
    const std::size_t start = begin_message(field);
    write(*this);
    end_message(start);
  }

 private:
  std::size_t begin_message(std::uint32_t field);
  void end_message(std::size_t start);
  std::string& out_;
};

// Appends a base-128 varint.
void append_varint(std::string& out, std::uint64_t value);

// Takes a varint from the front of `bytes`. False, with `bytes` untouched, when it is cut short,
// longer than ten bytes or above 64 bits.
bool take_varint(std::string_view& bytes, std::uint64_t& value);

// One pass over the fields of a message:
//
//   ProtoReader reader(bytes);
//   while (reader.next()) {
//     if (reader.field() == 1) key = reader.bytes();
//   }
//   if (!reader.ok()) …
//
// A field whose wire type is not the expected one reads as zero or empty, as unknown fields do in
// other decoders. Groups and reserved wire types break the message.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  bool next();
  bool ok() const { return ok_; }

  std::uint32_t field() const { return field_; }
  std::uint64_t number() const { return number_; }  // varint, fixed32 or fixed64
  std::int64_t signed_number() const { return static_cast<std::int64_t>(number_); }
  bool boolean() const { return number_ != 0; }
  std::string_view bytes() const { return bytes_; }

 private:
  bool broken();
  bool take_fixed(std::size_t width);
  std::string_view rest_;
  std::string_view bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  bool ok_ = true;
};

}  // namespace fairlead::wire
