#include "api/watchcache/cache_metrics.h"

#include <functional>

namespace fairlead::watchcache {

void register_cache_metrics(metrics::Registry& registry, const WatchCache& cache,
                            const resource::Catalog& catalog) {
  const auto total = [&cache, &catalog](std::size_t (KindCache::*figure)() const) {
    return [&cache, &catalog, figure] {
      std::size_t sum = 0;
      for (const resource::Kind* kind : catalog.stored_kinds()) sum += (cache.of(*kind).*figure)();
      return static_cast<double>(sum);
    };
  };
  registry.gauge_of("fairlead_cache_revision", "Store revision that the cache shows.",
                    [&cache] { return static_cast<double>(cache.revision()); });
  registry.gauge_of("fairlead_cache_objects", "Objects in the cache.",
                    total(&KindCache::object_count));
  registry.gauge_of("fairlead_cache_object_bytes", "Bytes of encoded objects in the cache.",
                    total(&KindCache::object_bytes));
  registry.gauge_of("fairlead_cache_history_events", "Recent events kept for watches to resume.",
                    total(&KindCache::history_size));
  registry.gauge_of("fairlead_cache_history_bytes", "Bytes those events keep alive.",
                    total(&KindCache::history_bytes));
  registry.gauge_of("fairlead_cache_watchers", "Subscribed watchers.", total(&KindCache::watchers));
}

}  // namespace fairlead::watchcache
