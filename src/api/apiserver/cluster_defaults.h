// What every cluster has from its first start: the namespaces that clients and nodes expect.
#pragma once

#include "api/apiserver/object_writer.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

// Waits for the cache and makes what is missing, trying again while the store is out of reach.
Task<Result<>> ensure_defaults(runtime::Runtime& runtime, watchcache::WatchCache& cache,
                               const resource::Catalog& catalog, ObjectWriter& writer);

}  // namespace fairlead::apiserver
