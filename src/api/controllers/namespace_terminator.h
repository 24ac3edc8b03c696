// NamespaceTerminator: deletes the contents of a terminating namespace, then the namespace.
//
// Nothing can be created in it any more (apiserver::NamespaceLifecycle compares the namespace in
// the same transaction), so once a consistent read shows it empty, it stays empty.
#pragma once

#include <optional>
#include <string>

#include "api/apiserver/object_writer.h"
#include "api/control/work_queue.h"
#include "api/controllers/object_id.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::controllers {

class NamespaceTerminator {
 public:
  NamespaceTerminator(runtime::Runtime& runtime, const resource::Catalog& catalog,
                      watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                      std::optional<control::WorkQueueMetrics> metrics = {});

  // Until cancelled.
  Task<void> run();

 private:
  void rebuild();
  Task<Result<>> reconcile(std::string name);
  // Asks for the deletion of everything in the namespace; true when there is nothing.
  Task<Result<bool>> empty_out(std::string name);

  runtime::Runtime& runtime_;
  const resource::Catalog& catalog_;
  const resource::Kind& namespaces_;
  watchcache::WatchCache& cache_;
  apiserver::ObjectWriter& writer_;
  control::WorkQueue<std::string> queue_;
};

}  // namespace fairlead::controllers
