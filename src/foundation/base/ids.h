// Random identifiers. The bits are passed in (Runtime::random), so simulation repeats them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace fairlead {

// 64 uniform bits a call.
using RandomBits = std::function<std::uint64_t()>;

// RFC 4122 version 4: "f47ac10b-58cc-4372-a567-0e02b2c3d479".
std::string random_uuid(const RandomBits& random);

std::string random_bytes(const RandomBits& random, std::size_t count);

}  // namespace fairlead
