// get and list, answered from the watch cache.
#pragma once

#include "api/apiserver/request.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

class Reads {
 public:
  Reads(runtime::Runtime& runtime, watchcache::WatchCache& cache)
      : runtime_(runtime), cache_(cache), long_lists_(runtime) {}

  Task<Result<>> get(Request& request);
  Task<Result<>> list(Request& request);

 private:
  runtime::Runtime& runtime_;
  watchcache::WatchCache& cache_;
  Turns long_lists_;
};

// How long a read or watch waits until the cache reaches a resourceVersion from another server.
inline constexpr Duration kFutureVersionWait = 3s;

}  // namespace fairlead::apiserver
