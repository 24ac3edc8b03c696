// Expirer: removes objects of kinds with a time to live (Events) when it has passed since they were
// last written, and the oldest when there are too many, or they are too large together, so that a
// chatty client cannot fill the memory.
#pragma once

#include "api/apiserver/object_writer.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::controllers {

// When an Event last happened: the latest of its own times that is not in the future. Pure.
resource::Moment last_written(const Json& object, resource::Moment now);

class Expirer {
 public:
  // `most`: so many of one kind that expires stay, of so many bytes.
  Expirer(runtime::Runtime& runtime, const resource::Catalog& catalog,
          watchcache::WatchCache& cache, apiserver::ObjectWriter& writer, std::size_t most = 10'000,
          std::size_t most_bytes = 32 << 20)
      : runtime_(runtime),
        catalog_(catalog),
        cache_(cache),
        writer_(writer),
        most_(most),
        most_bytes_(most_bytes) {}

  // Looks every half minute, until cancelled.
  Task<void> run();

 private:
  Task<void> sweep_all();
  Task<void> sweep(const resource::Kind& kind);

  runtime::Runtime& runtime_;
  const resource::Catalog& catalog_;
  watchcache::WatchCache& cache_;
  apiserver::ObjectWriter& writer_;
  std::size_t most_;
  std::size_t most_bytes_;
};

}  // namespace fairlead::controllers
