// CHECK: a broken invariant ends the process, in every build.
//
// For programming errors only. Anything that a peer, a disk or a user can cause is a Result.
#pragma once

namespace fairlead {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace fairlead

#define CHECK(expression)                                        \
  do {                                                           \
    if (!(expression)) [[unlikely]]                              \
      ::fairlead::check_failed(#expression, __FILE__, __LINE__); \
  } while (false)
