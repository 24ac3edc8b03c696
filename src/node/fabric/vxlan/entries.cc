#include "node/fabric/vxlan/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "foundation/base/check.h"
#include "node/fabric/vxlan/datapath.h"

namespace fairlead::fabric::vxlan {
namespace {

constexpr std::string_view kMaker = "fairlead";
constexpr std::size_t kAliasRoom = 255;

template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

void copy_mac(const Mac& mac, __u8* to) { std::ranges::copy(mac.bytes(), to); }

std::string port_value(const Station& station, Owner owner) {
  fl_port port{.owner = owner, .vni = station.vni};
  copy_mac(station.mac, port.mac);
  for (const Ip& ip : station.addresses) {
    const auto bytes = address_bytes(ip);
    std::copy_n(bytes.begin(), ip.is_v4() ? 4 : 16, ip.is_v4() ? port.v4 : port.v6);
  }
  return bytes_of(port);
}

std::string place_key(const Station& station) {
  fl_place_key key{.vni = station.vni};
  copy_mac(station.mac, key.mac);
  return bytes_of(key);
}

std::string place_value(const Station& station, Owner owner, std::uint32_t host_end) {
  fl_place place{.owner = owner};
  if (station.local())
    place.ifindex = host_end;
  else
    std::ranges::copy(address_bytes(station.host), place.host);
  return bytes_of(place);
}

std::string answer_key(const Station& station, const Ip& ip) {
  fl_answer_key key{.vni = station.vni, .family = ip.is_v4() ? 4U : 6U};
  std::ranges::copy(address_bytes(ip), key.ip);
  return bytes_of(key);
}

std::string answer_value(const Station& station, Owner owner) {
  fl_answer answer{.owner = owner};
  copy_mac(station.mac, answer.mac);
  return bytes_of(answer);
}

// The text up to the next `separator`, taken off `rest`.
std::string_view take_word(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

}  // namespace

std::string_view table_name(Table table) {
  switch (table) {
    case Table::ports:
      return "fl_ports";
    case Table::places:
      return "fl_places";
    case Table::answers:
      return "fl_answers";
  }
  return {};
}

Owner owner_of(std::string_view id) {
  Owner owner = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : id) {
    owner ^= static_cast<unsigned char>(letter);
    owner *= 0x100000001b3;
  }
  return owner;
}

Owner owner_of_value(std::string_view value) {
  Owner owner = 0;
  CHECK(value.size() >= sizeof(owner));
  std::memcpy(&owner, value.data(), sizeof(owner));
  return owner;
}

std::array<std::uint8_t, 16> address_bytes(const Ip& ip) {
  if (!ip.is_v4()) return ip.bytes();
  std::array<std::uint8_t, 16> bytes{};
  std::copy(ip.bytes().end() - 4, ip.bytes().end(), bytes.begin());
  return bytes;
}

std::vector<Entry> entries_of(const Station& station, std::uint32_t host_end) {
  const Owner owner = owner_of(station.id);
  std::vector<Entry> entries;
  entries.push_back({{Table::places, place_key(station)}, place_value(station, owner, host_end)});
  for (const Ip& ip : station.addresses)
    entries.push_back({{Table::answers, answer_key(station, ip)}, answer_value(station, owner)});
  if (station.local())
    entries.push_back({{Table::ports, bytes_of(host_end)}, port_value(station, owner)});
  return entries;
}

Result<std::string> encode_alias(std::string_view device, const Station& station) {
  std::string alias = fmt::format("{} {} {} {} {} {} ", kMaker, device, station.id, station.vni,
                                  station.mac.to_string(), station.interface);
  for (const Ip& ip : station.addresses) {
    if (!alias.ends_with(' ')) alias += ',';
    alias += ip.to_string();
  }
  if (alias.size() > kAliasRoom || station.id.find(' ') != std::string::npos)
    return fail(Code::invalid, "id " + station.id + " does not fit into an interface's alias");
  return alias;
}

std::optional<Station> parse_alias(std::string_view device, std::string_view alias) {
  if (take_word(alias, ' ') != kMaker || take_word(alias, ' ') != device) return std::nullopt;
  Station station;
  station.id = take_word(alias, ' ');
  const std::string_view vni = take_word(alias, ' ');
  const auto [end, error] = std::from_chars(vni.data(), vni.data() + vni.size(), station.vni);
  if (error != std::errc() || end != vni.data() + vni.size()) return std::nullopt;
  const Result<Mac> mac = Mac::parse(take_word(alias, ' '));
  station.interface = take_word(alias, ' ');
  if (!mac || station.id.empty() || station.interface.empty()) return std::nullopt;
  station.mac = *mac;
  while (!alias.empty()) {
    const Result<Ip> ip = Ip::parse(take_word(alias, ','));
    if (!ip) return std::nullopt;
    station.addresses.push_back(*ip);
  }
  return station;
}

}  // namespace fairlead::fabric::vxlan
