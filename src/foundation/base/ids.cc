#include "foundation/base/ids.h"

#include "foundation/base/encoding.h"

namespace fairlead {

std::string random_bytes(const RandomBits& random, std::size_t count) {
  std::string bytes;
  bytes.reserve(count);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 8 == 0) bits = random();
    bytes.push_back(static_cast<char>(bits));
    bits >>= 8;
  }
  return bytes;
}

std::string random_uuid(const RandomBits& random) {
  std::string bytes = random_bytes(random, 16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  std::string text = encode_hex(bytes);
  for (const std::size_t dash : {8, 13, 18, 23}) text.insert(dash, 1, '-');
  return text;
}

}  // namespace fairlead
