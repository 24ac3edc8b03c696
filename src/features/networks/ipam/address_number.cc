#include "features/networks/ipam/address_number.h"

#include "foundation/base/check.h"

namespace fairlead::ipam {

AddressNumber number_of(const Ip& ip) {
  if (ip.is_v4()) return ip.v4_bits();
  AddressNumber number = 0;
  for (const std::uint8_t byte : ip.bytes()) number = number << 8 | byte;
  return number;
}

Ip ip_of(AddressNumber number, bool v4) {
  if (v4) return Ip::v4(static_cast<std::uint32_t>(number));
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 16; i-- > 0; number >>= 8) bytes[i] = static_cast<std::uint8_t>(number);
  return Ip::v6(bytes);
}

AddressRange usable_range(const Cidr& block) {
  const AddressNumber first = number_of(block.base());
  const AddressNumber last = number_of(block.last());
  if (last - first < 4) return {first, last};
  return {first + 2, block.base().is_v4() ? last - 1 : last};
}

bool is_usable(const Cidr& block, const Ip& ip) {
  if (ip.is_v4() != block.base().is_v4() || !block.contains(ip)) return false;
  const AddressRange range = usable_range(block);
  const AddressNumber number = number_of(ip);
  return number >= range.first && number <= range.last;
}

}  // namespace fairlead::ipam
