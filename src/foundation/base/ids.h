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

// Letters and digits that form no words and are not mistaken for one another: the tail that
// generateName appends, as Kubernetes chooses it.
std::string random_name_suffix(const RandomBits& random, std::size_t length = 5);

std::string random_bytes(const RandomBits& random, std::size_t count);

}  // namespace fairlead
