#include "sim/world/random.h"

#include <bit>
#include <cstring>

#include "foundation/base/check.h"

namespace fairlead::sim {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

__extension__ using Wide = unsigned __int128;

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = (state += kGolden);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a ^ kGolden) * (b ^ 0xd6e8feb86659fd93);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^
         std::rotl(a, 23);
}

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t basis) {
  std::uint64_t hash = mix(basis + 1, bytes.size());
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash, word);
    bytes.remove_prefix(8);
  }
  if (!bytes.empty()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    hash = mix(hash, word);
  }
  return hash;
}

Random::Random(std::uint64_t seed) : seed_(seed) {
  for (std::uint64_t& word : state_) word = splitmix(seed);
}

// xoshiro256++
std::uint64_t Random::next() {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const std::uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = std::rotl(s[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  CHECK(bound > 0);
  return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
}

bool Random::chance(std::uint32_t per_million) {
  return per_million != 0 && below(1'000'000) < per_million;
}

Duration Random::between(Duration low, Duration high) {
  CHECK(low <= high);
  if (low == high) return low;
  return low + Duration(below(static_cast<std::uint64_t>((high - low).count()) + 1));
}

Random Random::derive(std::string_view name) const { return Random(hash_bytes(name, seed_)); }

}  // namespace fairlead::sim
