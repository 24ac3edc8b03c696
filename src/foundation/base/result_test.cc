#include "foundation/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace fairlead {
namespace {

Result<int> half(int n) {
  if (n % 2) return fail(Code::invalid, "odd");
  return n / 2;
}

Result<int> quarter(int n) {
  FL_TRY(const int once, half(n));
  FL_TRY(const int twice, half(once));
  return twice;
}

// FL_TRY hands a value on and leaves with the first error.
TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(quarter(8), 2);
  EXPECT_EQ(quarter(6).error(), (Error{Code::invalid, "odd"}));
}

// Context reads from the outermost caller inwards.
TEST(Result, ContextIsPrepended) {
  EXPECT_EQ((Error{Code::exhausted, "full"}).context("allocate").context("bind a/b").to_string(),
            "exhausted: bind a/b: allocate: full");
}

// errno values land on the code that callers act on.
TEST(Result, ErrnoMapsToCodes) {
  EXPECT_EQ(errno_error("open x", ENOENT).code, Code::not_found);
  EXPECT_EQ(errno_error("write x", ENOSPC).code, Code::exhausted);
  EXPECT_EQ(errno_error("connect", ECONNREFUSED).code, Code::unavailable);
}

}  // namespace
}  // namespace fairlead
