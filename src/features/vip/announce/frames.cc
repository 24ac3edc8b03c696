#include "features/vip/announce/frames.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace fairlead::vip {
namespace {

constexpr std::uint16_t kArp = 0x0806, kIpv6 = 0x86dd, kVlan = 0x8100, kOuterVlan = 0x88a8;
constexpr std::uint16_t kArpRequest = 1, kArpReply = 2;
constexpr std::uint8_t kIcmpv6 = 58, kSolicitation = 135, kAdvertisement = 136;
constexpr std::uint8_t kSourceAddressOption = 1, kTargetAddressOption = 2;
constexpr std::uint32_t kOverride = 0x2000'0000;

const Mac kBroadcast({0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
const Mac kNoMac;

class Frame {
 public:
  Frame(const Mac& to, const Mac& from, std::uint16_t type) { mac(to).mac(from).u16(type); }
  Frame& u8(std::uint8_t value) {
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  Frame& u16(std::uint16_t value) {
    return u8(static_cast<std::uint8_t>(value >> 8)).u8(static_cast<std::uint8_t>(value));
  }
  Frame& u32(std::uint32_t value) {
    return u16(static_cast<std::uint16_t>(value >> 16)).u16(static_cast<std::uint16_t>(value));
  }
  Frame& mac(const Mac& mac) {
    for (const std::uint8_t byte : mac.bytes()) u8(byte);
    return *this;
  }
  Frame& ip(const Ip& ip) {
    const auto& all = ip.bytes();
    for (std::size_t i = ip.is_v4() ? 12 : 0; i < 16; ++i) u8(all[i]);
    return *this;
  }
  Frame& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

std::string arp(std::uint16_t operation, const Mac& sender_mac, const Ip& sender,
                const Mac& target_mac, const Ip& target) {
  return Frame(kBroadcast, sender_mac, kArp)
      .u16(1)       // Ethernet
      .u16(0x0800)  // IPv4
      .u8(6)
      .u8(4)
      .u16(operation)
      .mac(sender_mac)
      .ip(sender)
      .mac(target_mac)
      .ip(target)
      .take();
}

Ip v6(std::initializer_list<std::uint8_t> head, std::initializer_list<std::uint8_t> tail) {
  std::array<std::uint8_t, 16> bytes{};
  std::ranges::copy(head, bytes.begin());
  std::ranges::copy(tail, bytes.end() - static_cast<std::ptrdiff_t>(tail.size()));
  return Ip::v6(bytes);
}

std::uint16_t checksum(const Ip& from, const Ip& to, std::string_view body) {
  std::uint32_t sum = static_cast<std::uint32_t>(body.size()) + kIcmpv6;
  for (const Ip* ip : {&from, &to})
    for (std::size_t i = 0; i < 16; i += 2)
      sum += static_cast<std::uint32_t>(ip->bytes()[i] << 8 | ip->bytes()[i + 1]);
  for (std::size_t i = 0; i < body.size(); i += 2)
    sum += static_cast<std::uint32_t>(
        static_cast<unsigned char>(body[i]) << 8 |
        (i + 1 < body.size() ? static_cast<unsigned char>(body[i + 1]) : 0));
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// A neighbour discovery message in its frame.
std::string discovery(const Mac& from_mac, const Ip& from, const Ip& to, std::uint8_t type,
                      std::uint32_t flags, const Ip& target, std::string_view option) {
  const auto& group = to.bytes();  // RFC 2464: 33:33 and the last four bytes of the group
  const Mac to_mac({0x33, 0x33, group[12], group[13], group[14], group[15]});
  const auto body = [&](std::uint16_t sum) {
    Frame rest(kNoMac, kNoMac, 0);
    return rest.u8(type).u8(0).u16(sum).u32(flags).ip(target).raw(option).take().substr(14);
  };
  const std::string text = body(checksum(from, to, body(0)));
  return Frame(to_mac, from_mac, kIpv6)
      .u32(0x6000'0000)
      .u16(static_cast<std::uint16_t>(text.size()))
      .u8(kIcmpv6)
      .u8(255)
      .ip(from)
      .ip(to)
      .raw(text)
      .take();
}

std::string mac_option(std::uint8_t kind, const Mac& mac) {
  std::string option{static_cast<char>(kind), 1};
  for (const std::uint8_t byte : mac.bytes()) option.push_back(static_cast<char>(byte));
  return option;
}

Ip solicited_group(const Ip& address) {
  const auto& bytes = address.bytes();
  return v6({0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}, {bytes[13], bytes[14], bytes[15]});
}

// ---- reading

std::uint16_t u16_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}
Mac mac_at(std::string_view bytes, std::size_t at) {
  std::array<std::uint8_t, 6> mac;
  for (std::size_t i = 0; i < 6; ++i) mac[i] = static_cast<std::uint8_t>(bytes[at + i]);
  return Mac(mac);
}
Ip v6_at(std::string_view bytes, std::size_t at) {
  std::array<std::uint8_t, 16> ip;
  for (std::size_t i = 0; i < 16; ++i) ip[i] = static_cast<std::uint8_t>(bytes[at + i]);
  return Ip::v6(ip);
}

std::optional<AddressClaim> claim_in_arp(std::string_view arp) {
  if (arp.size() < 28 || u16_at(arp, 0) != 1 || u16_at(arp, 2) != 0x0800 || arp[4] != 6 ||
      arp[5] != 4)
    return std::nullopt;
  const std::uint32_t sender = static_cast<std::uint32_t>(u16_at(arp, 14)) << 16 | u16_at(arp, 16);
  if (sender == 0) return std::nullopt;  // a probe
  return AddressClaim{Ip::v4(sender), mac_at(arp, 8)};
}

std::optional<AddressClaim> claim_in_advertisement(std::string_view packet, const Mac& source) {
  if (packet.size() < 40 + 24 || (static_cast<unsigned char>(packet[0]) >> 4) != 6)
    return std::nullopt;
  const std::size_t length = u16_at(packet, 4);
  const bool is_one = static_cast<unsigned char>(packet[6]) == kIcmpv6 &&
                      static_cast<unsigned char>(packet[7]) == 255 && length >= 24 &&
                      packet.size() >= 40 + length &&
                      static_cast<unsigned char>(packet[40]) == kAdvertisement;
  if (!is_one) return std::nullopt;
  const std::string_view message = packet.substr(40, length);
  if (checksum(v6_at(packet, 8), v6_at(packet, 24), message) != 0) return std::nullopt;
  AddressClaim claim{v6_at(message, 8), source};
  for (std::string_view rest = message.substr(24); rest.size() >= 8;) {
    const std::size_t size = static_cast<unsigned char>(rest[1]) * 8u;
    if (size == 0 || size > rest.size()) return std::nullopt;
    if (rest[0] == static_cast<char>(kTargetAddressOption)) claim.mac = mac_at(rest, 2);
    rest.remove_prefix(size);
  }
  return claim;
}

}  // namespace

std::vector<std::string> announcements(const Ip& address, const Mac& mac) {
  if (address.is_v4())
    return {arp(kArpRequest, mac, address, kNoMac, address),
            arp(kArpReply, mac, address, mac, address)};
  const Ip all_nodes = v6({0xff, 0x02}, {0x01});
  return {discovery(mac, address, all_nodes, kAdvertisement, kOverride, address,
                    mac_option(kTargetAddressOption, mac))};
}

std::string probe(const Ip& address, const Mac& mac) {
  if (address.is_v4()) return arp(kArpRequest, mac, Ip(), kNoMac, address);
  return discovery(mac, v6({}, {0}), solicited_group(address), kSolicitation, 0, address, {});
}

std::string question(const Ip& from, const Mac& mac, const Ip& neighbour) {
  if (neighbour.is_v4()) return arp(kArpRequest, mac, from, kNoMac, neighbour);
  return discovery(mac, from, solicited_group(neighbour), kSolicitation, 0, neighbour,
                   mac_option(kSourceAddressOption, mac));
}

std::optional<AddressClaim> claim_in(std::string_view frame) {
  if (frame.size() < 14) return std::nullopt;
  const Mac source = mac_at(frame, 6);
  std::size_t at = 12;
  std::uint16_t type = u16_at(frame, at);
  for (int tags = 0; tags < 2 && (type == kVlan || type == kOuterVlan); ++tags) {
    at += 4;
    if (frame.size() < at + 2) return std::nullopt;
    type = u16_at(frame, at);
  }
  const std::string_view payload = frame.substr(at + 2);
  if (type == kArp) return claim_in_arp(payload);
  if (type == kIpv6) return claim_in_advertisement(payload, source);
  return std::nullopt;
}

}  // namespace fairlead::vip
