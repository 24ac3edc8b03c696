#include "api/controllers/namespace_terminator.h"

#include <vector>

#include "api/control/loop.h"
#include "foundation/runtime/scope.h"

namespace fairlead::controllers {

using watchcache::ObjectRef;

namespace {

constexpr int kWorkers = 4;
constexpr std::size_t kDeletesAtOnce = 32;
constexpr std::string_view kFinalizer = "kubernetes";

Task<void> delete_into(apiserver::ObjectWriter& writer, ObjectId id, std::string uid,
                       resource::Moment now, std::optional<Error>& failure) {
  const Result<> deleted = co_await delete_object(writer, std::move(id), std::move(uid),
                                                  apimachinery::Propagation::background, now);
  if (!deleted) failure = deleted.error();
}

}  // namespace

NamespaceTerminator::NamespaceTerminator(runtime::Runtime& runtime,
                                         const resource::Catalog& catalog,
                                         watchcache::WatchCache& cache,
                                         apiserver::ObjectWriter& writer,
                                         std::optional<control::WorkQueueMetrics> metrics)
    : runtime_(runtime),
      catalog_(catalog),
      namespaces_(*catalog.find("", "v1", "namespaces")),
      cache_(cache),
      writer_(writer),
      queue_(runtime, metrics) {
  cache.on_reset([this] { rebuild(); });
  cache.observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    if (&kind == &namespaces_) {
      if (event.after() && event.after()->deleting) queue_.add(event.after()->name);
    } else if (kind.namespaced && !event.after()) {
      const std::string& name = event.before()->namespace_name;
      const ObjectRef home = cache_.of(namespaces_).find(name);
      if (home && home->deleting) queue_.add(name);
    }
  });
}

void NamespaceTerminator::rebuild() {
  for (const auto& [name, object] : cache_.of(namespaces_).objects())
    if (object->deleting) queue_.add(name);
}

Task<void> NamespaceTerminator::run() {
  const auto work = [this](std::string name) { return reconcile(std::move(name)); };
  co_await control::run_workers(runtime_, queue_,
                                {.name = "namespace-terminator", .workers = kWorkers}, work);
}

Task<Result<>> NamespaceTerminator::reconcile(std::string name) {
  FL_CO_CHECKED(co_await cache_.fresh());
  const ObjectRef home = cache_.of(namespaces_).find(name);
  if (!home || !home->deleting) co_return Result<>{};
  FL_CO_TRY(const bool empty, co_await empty_out(name));
  if (!empty) co_return Result<>{};  // looked at again when something in it goes

  const auto edit = [](Json& object) {
    Json* list = wire::find(object, "spec.finalizers");
    if (!list || !list->is_array()) return false;
    JsonArray kept;
    for (const Json& entry : list->get_array())
      if (!entry.is_string() || entry.get_string() != kFinalizer) kept.push_back(entry);
    if (kept.size() == list->get_array().size()) return false;
    *list = std::move(kept);
    return true;
  };
  co_return co_await edit_object(writer_, {&namespaces_, "", name}, home->uid, "finalize",
                                 runtime_.wall_now(), edit);
}

Task<Result<bool>> NamespaceTerminator::empty_out(std::string name) {
  bool empty = true;
  std::optional<Error> failure;
  for (const resource::Kind* kind : catalog_.stored_kinds()) {
    if (!kind->namespaced) continue;
    watchcache::Selection inside;
    inside.namespace_name = name;
    const std::vector<ObjectRef> objects = cache_.of(*kind).list(inside, {})->objects;
    empty = empty && objects.empty();
    // Several at once share a commit; not all at once, so that clients keep their turn.
    for (std::size_t begin = 0; begin < objects.size(); begin += kDeletesAtOnce) {
      runtime::Scope batch(runtime_);
      for (std::size_t i = begin; i < std::min(begin + kDeletesAtOnce, objects.size()); ++i)
        if (!objects[i]->deleting)
          batch.spawn(delete_into(writer_, ObjectId::of(*kind, *objects[i]), objects[i]->uid,
                                  runtime_.wall_now(), failure));
      co_await batch.join();
      if (failure) co_return fail(*failure);
    }
  }
  co_return empty;
}

}  // namespace fairlead::controllers
