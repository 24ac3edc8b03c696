#include "foundation/base/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "foundation/base/check.h"

namespace fairlead {
namespace {

constexpr std::size_t kV4At = 12;  // where the four bytes of an IPv4 address stand

std::unexpected<Error> bad(std::string_view kind, std::string_view text) {
  return fail(Code::invalid, std::string(kind).append(" \"").append(text).append("\""));
}

// Strictly decimal, no sign, no leading zero, at most `limit`.
bool parse_decimal(std::string_view text, int limit, int& value) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text.front() != '-' &&
         value <= limit;
}

bool parse_v4(std::string_view text, std::uint32_t& bits) {
  bits = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (part == 3)) return false;
    int value = 0;
    if (!parse_decimal(text.substr(0, dot), 255, value)) return false;
    bits = bits << 8 | static_cast<std::uint32_t>(value);
    if (part < 3) text.remove_prefix(dot + 1);
  }
  return true;
}

bool parse_v6(std::string_view text, std::array<std::uint8_t, 16>& bytes) {
  // inet_pton is strict about IPv6, apart from what follows: it needs a terminated string.
  char copy[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof copy || text.contains('\0')) return false;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return ::inet_pton(AF_INET6, copy, bytes.data()) == 1;
}

// Keeps the first `prefix` of the `width` bits that count and sets the rest to `fill`.
std::array<std::uint8_t, 16> with_host_bits(const Ip& ip, int prefix, bool fill) {
  std::array<std::uint8_t, 16> bytes = ip.bytes();
  const int first = 128 - ip.width() + prefix;
  for (int bit = first; bit < 128; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80 >> (bit % 8));
    std::uint8_t& byte = bytes[static_cast<std::size_t>(bit) / 8];
    byte = static_cast<std::uint8_t>(fill ? byte | mask : byte & ~mask);
  }
  return bytes;
}

Ip ip_of(bool v4, const std::array<std::uint8_t, 16>& bytes) {
  if (!v4) return Ip::v6(bytes);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits = bits << 8 | bytes[kV4At + i];
  return Ip::v4(bits);
}

}  // namespace

Ip Ip::v4(std::uint32_t bits) {
  Ip ip;
  for (std::size_t i = 0; i < 4; ++i)
    ip.bytes_[kV4At + i] = static_cast<std::uint8_t>(bits >> (24 - 8 * i));
  return ip;
}

Ip Ip::v6(const std::array<std::uint8_t, 16>& bytes) {
  Ip ip;
  ip.v4_ = false;
  ip.bytes_ = bytes;
  return ip;
}

Result<Ip> Ip::parse(std::string_view text) {
  if (std::uint32_t bits = 0; parse_v4(text, bits)) return v4(bits);
  std::array<std::uint8_t, 16> bytes{};
  if (text.contains(':') && parse_v6(text, bytes)) return v6(bytes);
  return bad("bad IP address", text);
}

std::uint32_t Ip::v4_bits() const {
  CHECK(v4_);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits = bits << 8 | bytes_[kV4At + i];
  return bits;
}

bool Ip::is_unicast() const {
  if (v4_) {
    const std::uint32_t bits = v4_bits();
    return bits != 0 && bits < 0xe000'0000;  // below 224.0.0.0: multicast, class E and broadcast
  }
  if (bytes_[0] == 0xff) return false;
  return std::ranges::any_of(bytes_, [](std::uint8_t byte) { return byte != 0; });
}

bool Ip::is_loopback() const {
  if (v4_) return bytes_[kV4At] == 127;
  static constexpr std::array<std::uint8_t, 16> kOne{0, 0, 0, 0, 0, 0, 0, 0,
                                                     0, 0, 0, 0, 0, 0, 0, 1};
  return bytes_ == kOne;
}

std::string Ip::to_string() const {
  char text[INET6_ADDRSTRLEN];
  const void* from = v4_ ? bytes_.data() + kV4At : bytes_.data();
  return ::inet_ntop(v4_ ? AF_INET : AF_INET6, from, text, sizeof text);
}

Cidr::Cidr(Ip base, int prefix) : prefix_(prefix) {
  CHECK(prefix >= 0 && prefix <= base.width());
  base_ = ip_of(base.is_v4(), with_host_bits(base, prefix, false));
}

Result<Cidr> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad("no prefix length in address block", text);
  const Result<Ip> base = Ip::parse(text.substr(0, slash));
  int prefix = 0;
  if (!base || !parse_decimal(text.substr(slash + 1), base->width(), prefix))
    return bad("bad address block", text);
  const Cidr cidr(*base, prefix);
  if (cidr.base() != *base)
    return fail(Code::invalid, std::string("host bits set in address block \"")
                                   .append(text)
                                   .append("\", expected ")
                                   .append(cidr.to_string()));
  return cidr;
}

bool Cidr::contains(const Ip& ip) const {
  return ip.is_v4() == base_.is_v4() && Cidr(ip, prefix_).base() == base_;
}

bool Cidr::overlaps(const Cidr& other) const {
  return contains(other.base()) || other.contains(base_);
}

Ip Cidr::last() const { return ip_of(base_.is_v4(), with_host_bits(base_, prefix_, true)); }

std::string Cidr::to_string() const {
  return base_.to_string().append("/").append(std::to_string(prefix_));
}

Result<Mac> Mac::parse(std::string_view text) {
  std::array<std::uint8_t, 6> bytes{};
  bool good = text.size() == 17;
  for (std::size_t i = 0; good && i < 6; ++i) {
    const char* at = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(at, at + 2, bytes[i], 16);
    good = error == std::errc() && end == at + 2 && (i == 5 || at[2] == ':');
  }
  if (!good) return bad("bad MAC address", text);
  return Mac(bytes);
}

std::string Mac::to_string() const {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", bytes_[0], bytes_[1], bytes_[2],
                bytes_[3], bytes_[4], bytes_[5]);
  return text;
}

}  // namespace fairlead
