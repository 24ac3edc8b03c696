// Digests and random bytes for credentials. Pure; randomness is passed in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace fairlead::identity {

// 64 uniform bits a call. Production passes Runtime::random(), which nobody can predict.
using Random = std::function<std::uint64_t()>;

std::string random_bytes(const Random& random, std::size_t count);

using Digest = std::array<std::uint8_t, 32>;
Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);

inline std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// For unordered containers: a digest is as uniform as can be already.
struct DigestHash {
  std::size_t operator()(const Digest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

// For secrets: takes the same time wherever the first difference is. Lengths are no secret.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace fairlead::identity
