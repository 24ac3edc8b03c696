// GarbageCollector: deletes objects whose last owner is gone, and carries out foreground and orphan
// deletion.
//
// Follows metadata.ownerReferences through the watch cache, with Kubernetes' rules:
//   an object none of whose owners exists any more is deleted;
//   references to owners that are gone are removed from objects that still have another;
//   an owner with the finalizer foregroundDeletion is erased after its (blocking) dependents;
//   an owner with the finalizer orphan is first removed from its dependents' references.
// Every decision is taken on fresh state and written with the object's uid as precondition, so
// several servers may run it at once. Owners of kinds that are not stored here count as existing.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/apiserver/object_writer.h"
#include "api/control/work_queue.h"
#include "api/controllers/object_id.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/key_map.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::controllers {

class GarbageCollector {
 public:
  // Observes the cache from now on; run() does the work.
  GarbageCollector(runtime::Runtime& runtime, const resource::Catalog& catalog,
                   watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                   std::optional<control::WorkQueueMetrics> metrics = {});

  // Until cancelled.
  Task<void> run();

  const control::WorkQueue<ObjectId>& queue() const { return queue_; }

 private:
  struct OwnerState;
  void rebuild();
  void notice(const resource::Kind& kind, const watchcache::Event& event);
  void index(const ObjectId& id, const watchcache::Object& object);
  void unindex(const ObjectId& id, const watchcache::Object& object);
  void consider(const ObjectId& id, const watchcache::Object& object);
  void reconsider(const ObjectId& id);
  watchcache::ObjectRef find(const ObjectId& id) const;
  OwnerState state_of(const watchcache::Object& dependent, const watchcache::Owner& owner) const;

  Task<Result<>> reconcile(ObjectId id);
  Task<Result<>> judge(ObjectId id, watchcache::ObjectRef object);
  Task<Result<>> release_dependents(ObjectId id, watchcache::ObjectRef owner);
  Task<Result<>> delete_dependents(ObjectId id, watchcache::ObjectRef owner);
  Task<Result<>> remove_finalizer(ObjectId id, std::string uid, std::string finalizer);
  Task<Result<>> remove_owners(ObjectId id, std::string uid, std::set<std::string> owners);

  runtime::Runtime& runtime_;
  const resource::Catalog& catalog_;
  watchcache::WatchCache& cache_;
  apiserver::ObjectWriter& writer_;
  control::WorkQueue<ObjectId> queue_;
  KeyMap<std::set<ObjectId>> dependents_;  // by the owner's uid
};

}  // namespace fairlead::controllers
