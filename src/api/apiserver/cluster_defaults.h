// The namespaces that every cluster has from its first start, because clients and nodes expect
// them.
#pragma once

#include "api/apiserver/object_writer.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

// Waits for the cache, then creates those that are missing; retries while the store is unreachable.
Task<Result<>> ensure_defaults(runtime::Runtime& runtime, watchcache::WatchCache& cache,
                               const resource::Catalog& catalog, ObjectWriter& writer);

}  // namespace fairlead::apiserver
