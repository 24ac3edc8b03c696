#include "foundation/wire/protobuf.h"

#include <gtest/gtest.h>

#include <limits>

namespace fairlead::wire {
namespace {

// What the writer writes is what the format's own specification gives as its example.
TEST(Protobuf, WritesTheSpecificationsExamples) {
  std::string out;
  ProtoWriter writer(out);
  writer.number(1, 150);
  writer.bytes(2, "testing");
  writer.message(3, [](ProtoWriter& inner) { inner.number(1, 150); });
  EXPECT_EQ(out, std::string("\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"));
}

// Defaults are left out, because etcd's own encoder leaves them out, except where presence matters.
TEST(Protobuf, LeavesOutDefaultsUnlessPresenceMatters) {
  std::string out;
  ProtoWriter writer(out);
  writer.number(1, 0);
  writer.bytes(2, "");
  writer.boolean(3, false);
  EXPECT_EQ(out, "");
  writer.present_signed_number(6, 0);
  writer.message(1, [](ProtoWriter&) {});
  EXPECT_EQ(out, std::string("\x30\x00\x0a\x00", 4));
}

// Every 64-bit value survives, negative ones in ten bytes.
TEST(Protobuf, NumbersSurvive) {
  for (const std::int64_t value :
       {std::int64_t{1}, std::int64_t{127}, std::int64_t{128}, std::int64_t{-1},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    std::string out;
    ProtoWriter(out).signed_number(16, value);
    ProtoReader reader(out);
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.field(), 16U);
    EXPECT_EQ(reader.signed_number(), value);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.ok());
  }
}

// A sub-message longer than one length byte can say is still framed rightly.
TEST(Protobuf, LongSubMessages) {
  const std::string value(300, 'x');
  std::string out;
  ProtoWriter(out).message(1, [&](ProtoWriter& inner) { inner.bytes(1, value); });
  ProtoReader outer(out);
  ASSERT_TRUE(outer.next());
  ProtoReader inner(outer.bytes());
  ASSERT_TRUE(inner.next());
  EXPECT_EQ(inner.bytes(), value);
  EXPECT_FALSE(outer.next());
  EXPECT_TRUE(outer.ok());
}

// Fields of the fixed-width types that no message of ours has are stepped over.
TEST(Protobuf, StepsOverFixedWidthFields) {
  ProtoReader reader(
      std::string_view("\x0d\x01\x02\x03\x04\x11\x01\x00\x00\x00\x00\x00\x00\x00\x18\x05", 16));
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(), 0x04030201U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(), 1U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 3U);
  EXPECT_EQ(reader.number(), 5U);
}

// Bytes that break the format end the pass and say so: cut varints, lengths past the end, field
// zero, groups, varints above 64 bits.
TEST(Protobuf, RefusesBrokenBytes) {
  for (const std::string_view bytes :
       {std::string_view("\x08"), std::string_view("\x08\x80"),
        std::string_view("\x12\x05"
                         "abc"),
        std::string_view("\x00\x01", 2), std::string_view("\x0b"), std::string_view("\x0d\x01"),
        std::string_view("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        std::string_view("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {
    ProtoReader reader(bytes);
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.ok());
    EXPECT_FALSE(reader.next());
  }
}

}  // namespace
}  // namespace fairlead::wire
