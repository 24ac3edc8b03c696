#include "features/networks/ipam/mac.h"

namespace fairlead::ipam {
namespace {

// Locally administered, unicast; the two kinds never meet.
constexpr std::uint8_t kEmbedded = 0x02;
constexpr std::uint8_t kHashed = 0x06;

}  // namespace

Mac mac_for_ipv4(const Ip& ip) {
  const std::uint32_t bits = ip.v4_bits();
  return Mac({kEmbedded, 0, static_cast<std::uint8_t>(bits >> 24),
              static_cast<std::uint8_t>(bits >> 16), static_cast<std::uint8_t>(bits >> 8),
              static_cast<std::uint8_t>(bits)});
}

Mac mac_for_ipv6(const Ip& ip, std::uint32_t attempt) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ attempt;
  for (const std::uint8_t byte : ip.bytes()) hash = (hash ^ byte) * 0x100000001b3;
  hash ^= hash >> 29;
  return Mac({kHashed, static_cast<std::uint8_t>(hash >> 32), static_cast<std::uint8_t>(hash >> 24),
              static_cast<std::uint8_t>(hash >> 16), static_cast<std::uint8_t>(hash >> 8),
              static_cast<std::uint8_t>(hash)});
}

}  // namespace fairlead::ipam
