// What stations look like in the kernel programs' maps (datapath.h): pure translation between a
// Station and the bytes of its entries, and the host end's alias, from which a later process reads
// the station again.
//
// A local station has an entry in each of ports, places and one or two answers; a remote one has no
// port. Every value begins with its owner, so what a station put into the maps can be found again.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "node/fabric/fabric.h"

namespace fairlead::fabric::vxlan {

enum class Table { ports, places, answers };
inline constexpr Table kTables[] = {Table::ports, Table::places, Table::answers};
std::string_view table_name(Table table);

struct EntryKey {
  Table table = Table::ports;
  std::string bytes;
  auto operator<=>(const EntryKey&) const = default;
};

struct Entry {
  EntryKey key;
  std::string value;
  bool operator==(const Entry&) const = default;
};

// A station's mark in the values it puts into the maps: 64 bits of its id.
using Owner = std::uint64_t;
Owner owner_of(std::string_view id);
// REQUIRES: a value from one of the tables.
Owner owner_of_value(std::string_view value);

// All entries of a station. `host_end` is the ifindex of a local station's host end.
std::vector<Entry> entries_of(const Station& station, std::uint32_t host_end);

// An address as the maps hold it: 16 bytes, IPv4 in the first four.
std::array<std::uint8_t, 16> address_bytes(const Ip& ip);

// The alias of a host end: who made it (the name of the VXLAN device) and for which station.
// Fails with invalid when that is longer than the 255 bytes Linux keeps.
Result<std::string> encode_alias(std::string_view device, const Station& station);
// nullopt: not an alias of ours.
std::optional<Station> parse_alias(std::string_view device, std::string_view alias);

}  // namespace fairlead::fabric::vxlan
