#include "node/fabric/vxlan/entries.h"

#include <gtest/gtest.h>

#include <cstring>

#include "node/fabric/vxlan/datapath.h"

namespace fairlead::fabric::vxlan {
namespace {

Station local_station() {
  return {.id = "d8d938e7-4e84-4b78-9d88-21a70a1a2064",
          .vni = 4711,
          .mac = *Mac::parse("02:00:0a:00:00:05"),
          .addresses = {*Ip::parse("10.0.0.5"), *Ip::parse("fd00::5")},
          .interface = "fl0123456789abc",
          .host = {}};
}

template <class T>
T read(const std::string& bytes) {
  EXPECT_EQ(bytes.size(), sizeof(T));
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

const Entry* find(const std::vector<Entry>& entries, Table table, std::size_t which = 0) {
  for (const Entry& entry : entries)
    if (entry.key.table == table && which-- == 0) return &entry;
  return nullptr;
}

// A local station: what comes from its host end is held to be its own, what is for it goes there,
// and both its addresses are answered for.
TEST(Entries, OfALocalStation) {
  const std::vector<Entry> entries = entries_of(local_station(), 17);
  ASSERT_EQ(entries.size(), 4U);
  const Entry* port = find(entries, Table::ports);
  EXPECT_EQ(read<std::uint32_t>(port->key.bytes), 17U);
  const auto held = read<fl_port>(port->value);
  EXPECT_EQ(held.vni, 4711U);
  const std::uint8_t v4[] = {10, 0, 0, 5};
  EXPECT_EQ(std::memcmp(held.v4, v4, 4), 0);
  EXPECT_EQ(held.v6[0], 0xfd);
  EXPECT_EQ(held.v6[15], 5);
  const Entry* place = find(entries, Table::places);
  EXPECT_EQ(read<fl_place_key>(place->key.bytes).mac[5], 5);
  EXPECT_EQ(read<fl_place>(place->value).ifindex, 17U);
  EXPECT_EQ(read<fl_answer_key>(find(entries, Table::answers, 0)->key.bytes).family, 4U);
  EXPECT_EQ(read<fl_answer_key>(find(entries, Table::answers, 1)->key.bytes).family, 6U);
}

// A remote station has no port; its place names the host, IPv4 in the first bytes.
TEST(Entries, OfARemoteStation) {
  Station station = local_station();
  station.interface.clear();
  station.host = *Ip::parse("192.0.2.7");
  const std::vector<Entry> entries = entries_of(station, 0);
  EXPECT_EQ(entries.size(), 3U);
  EXPECT_EQ(find(entries, Table::ports), nullptr);
  const auto place = read<fl_place>(find(entries, Table::places)->value);
  const std::uint8_t host[16] = {192, 0, 2, 7};
  EXPECT_EQ(place.ifindex, 0U);
  EXPECT_EQ(std::memcmp(place.host, host, 16), 0);
}

// Every value leads back to the station that put it there.
TEST(Entries, NameTheirOwner) {
  const Station station = local_station();
  for (const Entry& entry : entries_of(station, 3))
    EXPECT_EQ(owner_of_value(entry.value), owner_of(station.id));
  EXPECT_NE(owner_of("a"), owner_of("b"));
}

// What is written into an alias is read again.
TEST(Alias, HoldsTheStation) {
  Station station = local_station();
  EXPECT_EQ(parse_alias("dev", *encode_alias("dev", station)), station);
  station.addresses.pop_back();
  EXPECT_EQ(parse_alias("dev", *encode_alias("dev", station)), station);
}

// Aliases of others, of another fabric on this host, and damaged ones are not ours.
TEST(Alias, OfOthersIsNotOurs) {
  const std::string alias = *encode_alias("dev", local_station());
  EXPECT_FALSE(parse_alias("other", alias));
  for (const std::string text :
       {"", "fairlead", "fairlead dev", "uplink to rack 3",
        "fairlead dev id x 02:00:00:00:00:01 fl", "fairlead dev id 1 02:00 fl 10.0.0.1",
        "fairlead dev id 1 02:00:00:00:00:01 fl 10.0.0"})
    EXPECT_FALSE(parse_alias("dev", text)) << text;
}

// Linux would cut a longer alias off.
TEST(Alias, HasALimit) {
  Station station = local_station();
  station.id = std::string(200, 'x');
  EXPECT_EQ(encode_alias("dev", station).error().code, Code::invalid);
}

}  // namespace
}  // namespace fairlead::fabric::vxlan
