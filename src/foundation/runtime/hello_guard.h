// HelloGuard: checks the first bytes of a TLS connection before OpenSSL sees them, and refuses a
// ClientHello that claims to be longer than any real one. OpenSSL would allocate the claimed length
// (up to 128 KiB) for every unauthenticated peer that sends nine bytes.
//
// It follows the client's handshake records as far as they are plain text. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlead::runtime {

class HelloGuard {
 public:
  static constexpr std::size_t kMost = 16 << 10;

  // Takes the next bytes from the client. False, from then on: close the connection.
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
