// fairlead_build_info: which version a server or an agent is, in its /metrics.
#pragma once

#include <string>

#include "apiserver/version.h"
#include "base/metrics.h"

namespace fairlead::program {

inline void register_build_info(metrics::Registry& registry) {
  registry.gauges("fairlead_build_info", "1, with the version of this program.", {"version"})
      .with({std::string(apiserver::kVersion)})
      .set(1);
}

}  // namespace fairlead::program
