// KeyMap: a hash table keyed by text that strangers choose (names of objects), which can be
// searched with a string_view. The hash (SipHash-1-3) has a secret that every process draws for
// itself, so that nobody can choose keys that collide.
//
// For looking up only: the order of its entries is another one every time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fairlead {

struct HashSecret {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

std::uint64_t siphash13(std::string_view text, HashSecret secret);

struct SecretHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const;
};

template <class Value>
using KeyMap = std::unordered_map<std::string, Value, SecretHash, std::equal_to<>>;

}  // namespace fairlead
