// Random: the only source of chance in the virtual world. Small, fast, the same on every machine.
//
// Streams are derived by name from a seed, never from how many numbers were drawn elsewhere, so
// that adding a machine or a link to a scenario leaves the fortunes of the others as they were.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "foundation/runtime/time.h"

namespace fairlead::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();                      // 64 uniform bits
  std::uint64_t below(std::uint64_t bound);  // 0 … bound-1; REQUIRES: bound > 0
  bool chance(std::uint32_t per_million);
  Duration between(Duration low, Duration high);  // both ends included; REQUIRES: low <= high

  // A stream of its own that depends on this one's seed and the name only.
  Random derive(std::string_view name) const;

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
};

// A well mixed hash of some bytes, for digests. Not for strangers' input.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t basis = 0);
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace fairlead::sim
