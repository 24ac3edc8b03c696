// IP addresses, address blocks and MAC addresses as values. Parsing is strict (no leading zeros, no
// host bits in a block unless asked); text comes out in canonical form.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead {

class Ip {
 public:
  Ip() = default;  // 0.0.0.0
  static Ip v4(std::uint32_t bits);
  static Ip v6(const std::array<std::uint8_t, 16>& bytes);
  static Result<Ip> parse(std::string_view text);

  bool is_v4() const { return v4_; }
  std::uint32_t v4_bits() const;                                        // REQUIRES: is_v4()
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }  // v4 in the last four
  int width() const { return v4_ ? 32 : 128; }
  bool is_unicast() const;  // not unspecified, multicast, broadcast or reserved class E
  bool is_loopback() const;
  std::string to_string() const;

  auto operator<=>(const Ip&) const = default;

 private:
  bool v4_ = true;
  std::array<std::uint8_t, 16> bytes_{};
};

class Cidr {
 public:
  Cidr() = default;
  Cidr(Ip base, int prefix);  // host bits are cleared
  // "10.0.0.0/24". Fails with invalid if host bits are set.
  static Result<Cidr> parse(std::string_view text);

  const Ip& base() const { return base_; }
  int prefix() const { return prefix_; }
  bool contains(const Ip& ip) const;
  bool overlaps(const Cidr& other) const;
  Ip last() const;
  std::string to_string() const;

  auto operator<=>(const Cidr&) const = default;

 private:
  Ip base_;
  int prefix_ = 0;
};

class Mac {
 public:
  Mac() = default;
  explicit Mac(const std::array<std::uint8_t, 6>& bytes) : bytes_(bytes) {}
  static Result<Mac> parse(std::string_view text);
  const std::array<std::uint8_t, 6>& bytes() const { return bytes_; }
  std::string to_string() const;  // "02:00:0a:00:00:05"
  auto operator<=>(const Mac&) const = default;

 private:
  std::array<std::uint8_t, 6> bytes_{};
};

}  // namespace fairlead
