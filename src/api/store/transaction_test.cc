#include "api/store/transaction.h"

#include <gtest/gtest.h>

namespace fairlead::store {
namespace {

// The end of a prefix is the first text behind everything that begins with it.
TEST(PrefixEnd, IsTheFirstTextBehindThePrefix) {
  EXPECT_EQ(prefix_end("/a"), "/b");
  EXPECT_EQ(prefix_end("/a\xff"), "/b");
  EXPECT_EQ(prefix_end("a\xff\xff"), "b");
  EXPECT_EQ(prefix_end("\x7f"), "\x80");
  EXPECT_EQ(prefix_end(std::string("\0", 1)), "\x01");
  EXPECT_EQ(prefix_end("\xff\xff"), std::nullopt);
  EXPECT_EQ(prefix_end(""), std::nullopt);
}

// A conflict says what was found, in words that can be shown to a user.
TEST(Conflict, NamesTheKeyAndTheRevisions) {
  EXPECT_EQ(conflict_of({.key = "/k", .modified = 3}, 7).message,
            "/k was changed at revision 7, not 3");
  EXPECT_EQ(conflict_of({.key = "/k", .modified = 3}, 0).message, "/k does not exist");
  EXPECT_EQ(conflict_of({.key = "/k", .modified = 0}, 7).message, "/k exists already");
}

// Keys in messages cannot smuggle control characters into a terminal.
TEST(Printable, EscapesEverythingElse) {
  EXPECT_EQ(printable("/a b\x1b\xff"), "/a\\x20b\\x1b\\xff");
  EXPECT_LT(printable(std::string(100'000, 'k')).size(), 300u);
}

}  // namespace
}  // namespace fairlead::store
