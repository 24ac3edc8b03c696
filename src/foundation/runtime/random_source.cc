#include "foundation/runtime/random_source.h"

#include <sys/random.h>

#include <cerrno>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::runtime {

std::uint64_t RandomSource::next() {
  if (left_ == 0) {
    auto* at = reinterpret_cast<char*>(buffer_.data());
    std::size_t missing = sizeof buffer_;
    while (missing > 0) {
      const ssize_t got = ::getrandom(at, missing, 0);
      if (got < 0) {
        CHECK(errno == EINTR);
        continue;
      }
      at += got;
      missing -= static_cast<std::size_t>(got);
    }
    left_ = buffer_.size();
  }
  return std::exchange(buffer_[--left_], 0);  // a number that was given out is not kept
}

}  // namespace fairlead::runtime
