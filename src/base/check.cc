#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace fairlead {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "fairlead: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace fairlead
