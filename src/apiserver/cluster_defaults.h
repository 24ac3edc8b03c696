// What every cluster has from its first start: the namespaces that clients and nodes expect.
#pragma once

#include "apiserver/object_writer.h"
#include "resource/catalog.h"
#include "runtime/runtime.h"
#include "watchcache/watch_cache.h"

namespace fairlead::apiserver {

// Waits for the cache and makes what is missing, trying again while the store is out of reach.
Task<Result<>> ensure_defaults(runtime::Runtime& runtime, watchcache::WatchCache& cache,
                               const resource::Catalog& catalog, ObjectWriter& writer);

}  // namespace fairlead::apiserver
