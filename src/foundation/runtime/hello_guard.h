// HelloGuard: looks at the first bytes of a TLS connection before OpenSSL does. A client's hello
// that says it is longer than any real one is refused: OpenSSL would set that much memory aside
// (128 KiB) for every stranger who sends nine bytes.
//
// It follows the records of the handshake as far as they are plain text, and only those of the
// client. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlead::runtime {

class HelloGuard {
 public:
  static constexpr std::size_t kMost = 16 << 10;

  // The next bytes from the client. False: the connection is to be ended; says so from then on.
  bool admit(std::string_view bytes);

 private:
  bool header_complete();

  std::array<std::uint8_t, 9> header_{};  // of the record, and of the message that begins in it
  std::size_t filled_ = 0;
  std::size_t record_left_ = 0;   // bytes of the record still to come
  std::size_t message_left_ = 0;  // bytes of a message that goes on in the next record
  bool done_ = false;             // the rest is encrypted
  bool refused_ = false;
};

}  // namespace fairlead::runtime
