// Seal: datagrams between two engines that only they can write and read (ChaCha20-Poly1305), each
// accepted once. One Seal is for one pair of incarnations: when either engine starts anew, both
// make another one, so that nothing recorded earlier is ever accepted.
//
//   datagram: type 1 · name of the sender's direction (8 bytes) · the sender's count (8 bytes, big
//             endian) · sealed message · tag (16 bytes)
//
// Type, name and count are authenticated too. Counts may arrive out of order within a window;
// older ones and repeated ones are refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::vip {

inline constexpr char kSealedType = 1;
inline constexpr std::size_t kSealOverhead = 1 + 8 + 8 + 16;

// One end of a pair: its node's name and its engine's incarnation.
struct SealEnd {
  std::string node;
  std::uint64_t incarnation = 0;
};

class Seal {
 public:
  // `secret` is what both ends share: of the election (a file), or agreed on by TLS. The keys for
  // the two directions come from it and from both ends.
  Seal(std::string_view secret, const SealEnd& self, const SealEnd& peer);

  // The next datagram.
  std::string close(std::string_view message);
  // A datagram with the last count of all: after it, the peer accepts no other from this end. For
  // the farewell that the guard sends.
  std::string close_last(std::string_view message) const;
  // Whether the datagram says that it is of the peer's direction of this pair; not checked yet.
  bool names(std::string_view datagram) const;
  // Fails with invalid for what the peer did not write, or was accepted before.
  Result<std::string> open(std::string_view datagram);

 private:
  // What one direction is sealed with, and called by.
  struct Key {
    std::array<unsigned char, 32> secret{};
    std::string name;
  };
  static constexpr std::uint64_t kWindow = 64;

  std::string close_as(std::uint64_t count, std::string_view message) const;
  bool is_new(std::uint64_t count) const;
  void accept(std::uint64_t count);

  static Key derive(std::string_view secret, const SealEnd& from, const SealEnd& to);

  Key send_key_;
  Key receive_key_;
  std::uint64_t sent_ = 0;
  std::uint64_t highest_ = 0;  // accepted
  std::uint64_t window_ = 0;   // bit n: highest_ - n was accepted
};

}  // namespace fairlead::vip
