#include "foundation/runtime/hello_guard.h"

#include <algorithm>

namespace fairlead::runtime {
namespace {

constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMessageHeader = 4;
constexpr std::uint8_t kChangeCipherSpec = 20;
constexpr std::uint8_t kAlert = 21;
constexpr std::uint8_t kHandshake = 22;

}  // namespace

bool HelloGuard::admit(std::string_view bytes) {
  while (!bytes.empty() && !done_ && !refused_) {
    if (record_left_ > 0) {
      const std::size_t passed = std::min(record_left_, bytes.size());
      record_left_ -= passed;
      bytes.remove_prefix(passed);
      continue;
    }
    header_[filled_++] = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    refused_ = !header_complete();
  }
  return !refused_;
}

// False when what is known of the header cannot be that of a usual hello.
bool HelloGuard::header_complete() {
  if (filled_ < kRecordHeader) return true;
  const std::size_t length = static_cast<std::size_t>(header_[3]) << 8 | header_[4];
  const std::uint8_t type = header_[0];
  if (filled_ == kRecordHeader) {
    if (type == kChangeCipherSpec || type == kAlert || message_left_ > 0) {
      record_left_ = length;
      message_left_ -= std::min(message_left_, length);
      filled_ = 0;
      return true;
    }
    if (type != kHandshake) {
      done_ = true;  // encrypted, or no TLS at all, which OpenSSL says better
      return true;
    }
    return length >= kMessageHeader;
  }
  if (filled_ < kRecordHeader + kMessageHeader) return true;
  const std::size_t message = static_cast<std::size_t>(header_[6]) << 16 |
                              static_cast<std::size_t>(header_[7]) << 8 | header_[8];
  if (message > kMost) return false;
  record_left_ = length - kMessageHeader;
  message_left_ = message - std::min(message, record_left_);
  filled_ = 0;
  return true;
}

}  // namespace fairlead::runtime
