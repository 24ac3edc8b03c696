// metadata.generateName → a name. Randomness is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fairlead::apimachinery {

inline constexpr int kGenerateNameAttempts = 8;

// `base` cut to 58 characters, then five characters that spell no words. `random` gives 64 fresh
// random bits.
std::string generate_name(std::string_view base, std::uint64_t random);

}  // namespace fairlead::apimachinery
