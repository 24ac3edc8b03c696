#include "features/vip/guard/guard_note.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

GuardNote example() {
  return {.margin = 20ms,
          .farewells = {{*runtime::Endpoint::parse("10.0.0.2:10000"), std::string("\x01\0\xff", 3)},
                        {*runtime::Endpoint::parse("[fd00::3]:10000"), "abc"}}};
}

TEST(GuardNote, ComesBackAsItWent) {
  const std::string line = encode(example());
  EXPECT_EQ(line, "20000000 fenced 10.0.0.2:10000 0100ff [fd00::3]:10000 616263\n");
  EXPECT_EQ(decode_note(line.substr(0, line.size() - 1)), example());
}

TEST(GuardNote, WhatIsNoneIsRefused) {
  for (const char* bad : {"", "x", "-1", "5", "5 open", "5 fenced 10.0.0.2:1",
                          "5 fenced nowhere 00", "5 fenced 10.0.0.2:1 0", "5 fenced 10.0.0.2:1 zz"})
    EXPECT_FALSE(decode_note(bad)) << bad;
}

TEST(GuardNote, TheLastWholeOneCounts) {
  NoteReader reader;
  const std::string line = encode(example());
  EXPECT_FALSE(reader.last());
  for (const char c : line) reader.feed({&c, 1});
  ASSERT_TRUE(reader.last());
  EXPECT_EQ(*reader.last(), example());
  reader.feed("7 unfenced\n8 fenced 10.0.0.2:1");  // the engine died while it wrote
  EXPECT_EQ(reader.last()->margin, Duration(7));
  EXPECT_TRUE(reader.last()->unfenced);
  reader.feed("broken\n");
  EXPECT_EQ(reader.last()->margin, Duration(7));
}

}  // namespace
}  // namespace fairlead::vip
