// Which build this is: fairlead_build_info in the /metrics of a server or an agent, and
// `fairlead --version`.
#pragma once

#include <string>
#include <string_view>

#include "api/apiserver/version.h"
#include "foundation/base/metrics.h"

namespace fairlead::program {

// The commit it was built from, with "-dirty" if files differed, or "unknown"; defined in a file
// that the build writes (cmake/commit.cmake).
std::string_view commit();

inline std::string version_line() {
  return "fairlead " + std::string(apiserver::kVersion) + " (commit " + std::string(commit()) + ")";
}

inline void register_build_info(metrics::Registry& registry) {
  registry
      .gauges("fairlead_build_info", "1, with the version of this program.", {"version", "commit"})
      .with({std::string(apiserver::kVersion), std::string(commit())})
      .set(1);
}

}  // namespace fairlead::program
