// What a Server counts, in /metrics.
#pragma once

#include "base/metrics.h"
#include "http/server.h"

namespace fairlead::http {

// `server` outlives every scrape of `registry`.
void register_server_metrics(metrics::Registry& registry, const Server& server);

}  // namespace fairlead::http
