#include "foundation/base/ids.h"

#include <string_view>

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

std::string random_name_suffix(const RandomBits& random, std::size_t length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  text.reserve(length);
  // The bias of a 64-bit modulus by 27 is far below anything that shows.
  for (std::size_t i = 0; i < length; ++i) text.push_back(kAlphabet[random() % kAlphabet.size()]);
  return text;
}

}  // namespace fairlead
