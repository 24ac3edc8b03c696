// A Server's counters, in /metrics.
#pragma once

#include "foundation/base/metrics.h"
#include "foundation/http/server.h"

namespace fairlead::http {

// `server` outlives every scrape of `registry`.
void register_server_metrics(metrics::Registry& registry, const Server& server);

}  // namespace fairlead::http
