// Unpredictable bits from the kernel, fetched a buffer at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fairlead::runtime {

class RandomSource {
 public:
  std::uint64_t next();

 private:
  std::array<std::uint64_t, 128> buffer_{};
  std::size_t left_ = 0;
};

}  // namespace fairlead::runtime
