// What two agents tell each other over their TLS connection to agree on a key: each offers a part,
// the key is made of both. Pure.
//
//   on the wire: length (2 bytes, big endian), then the offer as protobuf
//
// The connection keeps the parts secret and is bound to both certificates, so the key is known to
// these two agents only; and because both contribute, neither can be made to use an old one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::vip {

inline constexpr std::size_t kMostOfferBytes = 1'024;
inline constexpr std::size_t kKeyPartBytes = 32;

struct KeyOffer {
  std::string from, to;  // nodes
  std::string part;      // random
  std::string refusal;   // instead of a part: why there is none
  bool operator==(const KeyOffer&) const = default;
};

std::string encode(const KeyOffer& offer);  // with its length
// Without the length. Fails with invalid.
Result<KeyOffer> decode_offer(std::string_view body);

// The key of the two, the same on both sides.
std::string agree(const KeyOffer& dialer, const KeyOffer& acceptor);

}  // namespace fairlead::vip
