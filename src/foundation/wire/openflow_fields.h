// Inside the OpenFlow codec: big-endian numbers, fields, actions and instructions. Not for others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/wire/openflow.h"

namespace fairlead::wire::openflow {

inline void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t at = bytes; at-- > 0;) out += static_cast<char>(value >> (8 * at));
}

// Writes over the 16 bits at `at`, where a length was left open.
inline void patch16(std::string& out, std::size_t at, std::size_t value) {
  out[at] = static_cast<char>(value >> 8);
  out[at + 1] = static_cast<char>(value);
}

inline std::size_t padded(std::size_t length) { return (length + 7) / 8 * 8; }

// Takes from the front; what is not there reads as zero or empty and breaks the reader for good.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number(std::size_t count) {
    std::uint64_t value = 0;
    for (const char byte : bytes(count)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view bytes(std::size_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

void encode_match(std::string& out, const Match& match);
Result<Match> decode_match(Reader& reader);

// The instructions of a flow: its actions and its next table.
void encode_instructions(std::string& out, const Flow& flow);
Result<> decode_instructions(std::string_view bytes, Flow& flow);

}  // namespace fairlead::wire::openflow
