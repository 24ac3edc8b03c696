#include "foundation/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "foundation/base/log_line.h"

namespace fairlead {

void check_failed(const char* expression, const char* file, int line) {
  if (log::format() == log::Format::json) {
    log::error("broken invariant", {{"expression", expression}, {"file", file}, {"line", line}});
  } else {
    std::fprintf(stderr, "fairlead: broken invariant: %s (%s:%d)\n", expression, file, line);
  }
  std::abort();
}

}  // namespace fairlead
