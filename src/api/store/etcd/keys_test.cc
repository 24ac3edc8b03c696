#include "api/store/etcd/keys.h"

#include <gtest/gtest.h>

namespace fairlead::store {
namespace {

// Keys of the store and keys of the store's own housekeeping never meet, whatever bytes they have.
TEST(EtcdKeys, SeparatesDataFromItsOwn) {
  const EtcdKeys keys("/root/");
  EXPECT_EQ(keys.key_of(keys.data("a/b")), "a/b");
  EXPECT_EQ(keys.key_of(keys.data(std::string_view("\0", 1))), std::string_view("\0", 1));
  EXPECT_FALSE(keys.key_of(keys.tick()));
  EXPECT_FALSE(keys.key_of(keys.compaction()));
  EXPECT_LT(keys.root(), keys.tick());
  EXPECT_LT(keys.data("\xff\xff"), keys.root_end());
}

// The range of a prefix holds all keys with it and no others.
TEST(EtcdKeys, PrefixRanges) {
  const EtcdKeys keys("/root/");
  EXPECT_LT(keys.data("a\xff\xff"), keys.data_end("a"));
  EXPECT_EQ(keys.data("b"), keys.data_end("a"));
  EXPECT_LT(keys.data("\xff\xff\xff"), keys.data_end("\xff"));
  EXPECT_FALSE(keys.key_of(keys.data_end("")));
}

// A value comes out of its envelope as it went in, with its position.
TEST(EtcdKeys, EnvelopesSurvive) {
  for (const std::uint32_t position : {0U, 1U, 127U, 128U, 1022U}) {
    const std::string sealed = seal_value(position, "payload");
    const auto opened = open_value(sealed);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->position, position);
    EXPECT_EQ(opened->value, "payload");
  }
}

// Values that someone else wrote are told apart.
TEST(EtcdKeys, RefusesForeignValues) {
  for (const std::string_view foreign :
       {std::string_view(""), std::string_view("{}"), std::string_view("\1"),
        std::string_view("\1\x80"), std::string_view("\1\xff\x7f"), std::string_view("\2\0", 2)}) {
    const auto opened = open_value(foreign);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::corrupt);
  }
}

}  // namespace
}  // namespace fairlead::store
