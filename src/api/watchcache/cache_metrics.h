// What the watch cache holds, for /metrics.
#pragma once

#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/metrics.h"

namespace fairlead::watchcache {

// Registers gauges that read `cache` at scrape time; it must outlive the registry's last use.
void register_cache_metrics(metrics::Registry& registry, const WatchCache& cache,
                            const resource::Catalog& catalog);

}  // namespace fairlead::watchcache
