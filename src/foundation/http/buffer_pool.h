// 64 KiB buffers lent to connections while they have something to send, so that thousands of idle
// connections hold none.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::http {

class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = 64 << 10;

  std::string take() {
    ++lent_;
    if (free_.empty()) {
      std::string fresh;
      fresh.reserve(kBufferBytes + 256);  // room for a frame or chunk header past the mark
      return fresh;
    }
    std::string buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void give(std::string buffer) {
    --lent_;
    if (buffer.capacity() < kBufferBytes || buffer.capacity() > 2 * kBufferBytes) return;
    if (free_.size() >= kKept) return;
    buffer.clear();
    free_.push_back(std::move(buffer));
  }
  std::size_t lent() const { return lent_; }

 private:
  static constexpr std::size_t kKept = 16;
  std::size_t lent_ = 0;
  std::vector<std::string> free_;
};

}  // namespace fairlead::http
