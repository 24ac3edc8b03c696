#include "api/controllers/garbage_collector.h"

#include <algorithm>

#include "api/control/loop.h"

namespace fairlead::controllers {

using apimachinery::Propagation;
using watchcache::Object;
using watchcache::ObjectRef;
using watchcache::Owner;

namespace {

// Enough to share commits, few enough to leave room for clients.
constexpr int kWorkers = 16;

}  // namespace

struct GarbageCollector::OwnerState {
  bool exists = false;
  bool waits = false;  // it exists, but waits for its dependents to go first
};

GarbageCollector::GarbageCollector(runtime::Runtime& runtime, const resource::Catalog& catalog,
                                   watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                                   std::optional<control::WorkQueueMetrics> metrics)
    : runtime_(runtime),
      catalog_(catalog),
      cache_(cache),
      writer_(writer),
      queue_(runtime, metrics) {
  cache.on_reset([this] { rebuild(); });
  cache.observe(
      [this](const resource::Kind& kind, const watchcache::Event& event) { notice(kind, event); });
}

void GarbageCollector::rebuild() {
  dependents_.clear();
  for (const resource::Kind* kind : catalog_.stored_kinds()) {
    for (const auto& [key, object] : cache_.of(*kind).objects()) {
      const ObjectId id = ObjectId::of(*kind, *object);
      index(id, *object);
      consider(id, *object);
    }
  }
}

void GarbageCollector::index(const ObjectId& id, const Object& object) {
  for (const Owner& owner : object.owners) dependents_[owner.uid].insert(id);
}

void GarbageCollector::unindex(const ObjectId& id, const Object& object) {
  for (const Owner& owner : object.owners) {
    const auto entry = dependents_.find(owner.uid);
    if (entry == dependents_.end()) continue;
    entry->second.erase(id);
    if (entry->second.empty()) dependents_.erase(entry);
  }
}

// Queued is only what there may be something to do about, as the cache has it: when that changes,
// another event says so.
void GarbageCollector::consider(const ObjectId& id, const Object& object) {
  if (object.waits_for_dependents || object.orphans_dependents) {
    queue_.add(id);
  } else if (!object.deleting && std::ranges::any_of(object.owners, [&](const Owner& owner) {
               const OwnerState state = state_of(object, owner);
               return !state.exists || state.waits;
             })) {
    queue_.add(id);
  }
}

void GarbageCollector::notice(const resource::Kind& kind, const watchcache::Event& event) {
  const ObjectRef &before = event.before(), &after = event.after();
  const bool same = before && after && before->uid == after->uid && before->owners == after->owners;
  if (before && !same) unindex(ObjectId::of(kind, *before), *before);
  if (after) {
    const ObjectId id = ObjectId::of(kind, *after);
    if (!same) index(id, *after);
    consider(id, *after);
  }
  if (!before || same) return;
  if (const auto entry = dependents_.find(before->uid); entry != dependents_.end())
    for (const ObjectId& dependent : entry->second) reconsider(dependent);
  for (const Owner& owner : before->owners) {
    const resource::Kind* owner_kind = catalog_.find_kind(owner.api_version, owner.kind);
    if (!owner_kind) continue;
    reconsider({owner_kind, owner_kind->namespaced ? before->namespace_name : "", owner.name});
  }
}

void GarbageCollector::reconsider(const ObjectId& id) {
  if (const ObjectRef object = find(id)) consider(id, *object);
}

ObjectRef GarbageCollector::find(const ObjectId& id) const {
  return cache_.of(*id.kind).find(watchcache::object_key(*id.kind, id.namespace_name, id.name));
}

GarbageCollector::OwnerState GarbageCollector::state_of(const Object& dependent,
                                                        const Owner& owner) const {
  const resource::Kind* kind = catalog_.find_kind(owner.api_version, owner.kind);
  if (!kind) return {.exists = true};
  const ObjectRef object =
      find({kind, kind->namespaced ? dependent.namespace_name : "", owner.name});
  if (!object || object->uid != owner.uid) return {};
  return {.exists = true, .waits = object->deleting && object->waits_for_dependents};
}

Task<void> GarbageCollector::run() {
  const auto work = [this](ObjectId id) { return reconcile(std::move(id)); };
  co_await control::run_workers(runtime_, queue_,
                                {.name = "garbage-collector", .workers = kWorkers}, work);
}

Task<Result<>> GarbageCollector::reconcile(ObjectId id) {
  FL_CO_CHECKED(co_await cache_.fresh());
  const ObjectRef object = find(id);
  if (!object) co_return Result<>{};
  if (object->orphans_dependents) co_return co_await release_dependents(id, object);
  if (object->waits_for_dependents) co_return co_await delete_dependents(id, object);
  if (object->deleting || object->owners.empty()) co_return Result<>{};
  co_return co_await judge(id, object);
}

Task<Result<>> GarbageCollector::judge(ObjectId id, ObjectRef object) {
  std::set<std::string> gone;
  bool has_solid = false, has_waiting = false;
  for (const Owner& owner : object->owners) {
    const OwnerState state = state_of(*object, owner);
    if (state.exists && !state.waits) {
      has_solid = true;
    } else {
      gone.insert(owner.uid);
      has_waiting |= state.waits;
    }
  }
  if (gone.empty()) co_return Result<>{};
  if (has_solid) co_return co_await remove_owners(id, object->uid, std::move(gone));
  const bool has_dependents = dependents_.contains(object->uid);
  const Propagation propagation =
      has_waiting && has_dependents ? Propagation::foreground : Propagation::background;
  co_return co_await delete_object(writer_, id, object->uid, propagation, runtime_.wall_now());
}

Task<Result<>> GarbageCollector::release_dependents(ObjectId id, ObjectRef owner) {
  std::set<ObjectId> dependents;
  if (const auto entry = dependents_.find(owner->uid); entry != dependents_.end())
    dependents = entry->second;
  for (const ObjectId& dependent : dependents) {
    const ObjectRef object = find(dependent);
    if (!object) continue;
    std::set<std::string> owners{owner->uid};
    FL_CO_CHECKED(co_await remove_owners(dependent, object->uid, std::move(owners)));
  }
  co_return co_await remove_finalizer(id, owner->uid, "orphan");
}

Task<Result<>> GarbageCollector::delete_dependents(ObjectId id, ObjectRef owner) {
  std::set<ObjectId> dependents;
  if (const auto entry = dependents_.find(owner->uid); entry != dependents_.end())
    dependents = entry->second;
  bool blocked = false;
  for (const ObjectId& dependent : dependents) {
    const ObjectRef object = find(dependent);
    if (!object) continue;
    blocked |= std::ranges::any_of(object->owners, [&](const Owner& reference) {
      return reference.uid == owner->uid && reference.blocks_deletion;
    });
    if (!object->deleting) queue_.add(dependent);  // judged by itself: it may have other owners
  }
  if (blocked) co_return Result<>{};  // looked at again when a dependent goes
  co_return co_await remove_finalizer(id, owner->uid, "foregroundDeletion");
}

Task<Result<>> GarbageCollector::remove_finalizer(ObjectId id, std::string uid,
                                                  std::string finalizer) {
  const auto edit = [&finalizer](Json& object) {
    Json* list = wire::find(object, "metadata.finalizers");
    if (!list || !list->is_array()) return false;
    JsonArray kept;
    for (const Json& entry : list->get_array())
      if (!entry.is_string() || entry.get_string() != finalizer) kept.push_back(entry);
    if (kept.size() == list->get_array().size()) return false;
    *list = std::move(kept);
    return true;
  };
  co_return co_await edit_object(writer_, id, std::move(uid), "", runtime_.wall_now(), edit);
}

Task<Result<>> GarbageCollector::remove_owners(ObjectId id, std::string uid,
                                               std::set<std::string> owners) {
  const auto edit = [&owners](Json& object) {
    Json* list = wire::find(object, "metadata.ownerReferences");
    if (!list || !list->is_array()) return false;
    JsonArray kept;
    for (const Json& entry : list->get_array())
      if (!owners.contains(std::string(wire::find_string(entry, "uid")))) kept.push_back(entry);
    if (kept.size() == list->get_array().size()) return false;
    *list = std::move(kept);
    return true;
  };
  co_return co_await edit_object(writer_, id, std::move(uid), "", runtime_.wall_now(), edit);
}

}  // namespace fairlead::controllers
