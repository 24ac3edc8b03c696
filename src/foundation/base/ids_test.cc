#include "foundation/base/ids.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace fairlead {
namespace {

RandomBits seeded(std::uint64_t state) {
  return [state]() mutable {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  };
}

// Version and variant bits are set whatever the source gives, and equal sources give equal ids.
TEST(Ids, UuidIsVersionFour) {
  EXPECT_EQ(random_uuid([] { return 0; }), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(random_uuid([] { return ~0ULL; }), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  const RandomBits random = seeded(1);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = random_uuid(random);
    EXPECT_TRUE(std::regex_match(id, form)) << id;
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(random_uuid(seeded(7)), random_uuid(seeded(7)));
}

// All bits of the source are used, least significant byte first, and the count is exact.
TEST(Ids, Bytes) {
  EXPECT_EQ(random_bytes([] { return 0x0807060504030201; }, 10),
            "\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02");
  EXPECT_EQ(random_bytes([] { return 1; }, 0), "");
}

}  // namespace
}  // namespace fairlead
