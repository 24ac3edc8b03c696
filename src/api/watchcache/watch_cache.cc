#include "api/watchcache/watch_cache.h"

#include "foundation/base/log.h"
#include "foundation/runtime/single_flight.h"

namespace fairlead::watchcache {
namespace {

constexpr Duration kRetryPause = 500ms;
constexpr std::size_t kLoadPage = 1'000;
constexpr std::string_view kGuardPrefix = "guard/";

}  // namespace

// One question to the store for its revision, shared by everyone who came before it was asked: what
// it tells is not older than anything acknowledged until then.
struct WatchCache::Check : runtime::SharedCall<store::Revision> {
  bool begun = false;  // a fiber is on its way to ask
};

WatchCache::WatchCache(runtime::Runtime& runtime, store::Store& store,
                       const resource::Catalog& catalog, HistoryLimits limits)
    : runtime_(runtime), store_(store), scope_(runtime) {
  for (const resource::Kind* kind : catalog.stored_kinds()) {
    caches_.push_back(std::make_unique<KindCache>(*kind, limits));
    by_kind_.emplace(kind, caches_.back().get());
    by_prefix_.emplace(kind_prefix(*kind), caches_.back().get());
  }
}

WatchCache::~WatchCache() = default;

KindCache& WatchCache::of(const resource::Kind& kind) { return *by_kind_.at(&kind.storage()); }
const KindCache& WatchCache::of(const resource::Kind& kind) const {
  return *by_kind_.at(&kind.storage());
}

Task<Result<>> WatchCache::run() {
  for (;;) {
    Result<store::Revision> loaded = co_await load();
    Result<> followed;
    if (loaded) {
      followed = co_await follow(*loaded);
    } else {
      followed = fail(loaded.error());
    }
    const Error& error = followed.error();
    if (error.code == Code::cancelled || error.code == Code::corrupt) co_return fail(error);
    log::warning("watch cache starts over", {{"error", error.to_string()}});
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, kRetryPause));
  }
}

Task<Result<store::Revision>> WatchCache::load() {
  std::map<KindCache*, std::vector<ObjectRef>> loaded;
  decltype(guards_) guards;
  store::ListOptions page{.at = 0, .after = {}, .limit = kLoadPage};
  for (;;) {
    FL_CO_TRY(const store::Listing listing, co_await store_.list("", page));
    page.at = listing.revision;
    for (const store::KeyValue& item : listing.items) {
      if (item.key.starts_with(kGuardPrefix)) guards[item.key] = item.modified.revision;
      std::string_view object_key;
      KindCache* cache = cache_for(item.key, object_key);
      if (!cache) continue;
      auto object = decode_stored(cache->kind(), item.value.view(), item.modified);
      if (!object) co_return fail(std::move(object).error().context(item.key));
      loaded[cache].push_back(std::move(*object));
    }
    if (!listing.more) break;
    page.after = listing.items.back().key;
  }
  guards_ = std::move(guards);
  for (const auto& cache : caches_) cache->reset(std::move(loaded[cache.get()]), page.at);
  for (const auto& callback : reset_callbacks_) callback();
  ready_ = true;
  advance(page.at);
  co_return page.at;
}

Task<Result<>> WatchCache::follow(store::Revision from) {
  FL_CO_TRY(const std::unique_ptr<store::Watch> watch, store_.watch("", from));
  for (;;) {
    FL_CO_TRY(const store::ChangeBatch batch, co_await watch->next());
    FL_CO_CHECKED(apply(batch));
    advance(batch.revision);
  }
}

Result<> WatchCache::apply(const store::ChangeBatch& batch) {
  for (const store::Change& change : batch.changes) {
    if (change.current.key.starts_with(kGuardPrefix))
      guards_[change.current.key] = change.current.modified.revision;
    std::string_view object_key;
    KindCache* cache = cache_for(change.current.key, object_key);
    if (!cache) continue;
    if (change.erased) {
      if (!cache->apply_erase(object_key, change.current.modified)) continue;
    } else {
      auto object =
          decode_stored(cache->kind(), change.current.value.view(), change.current.modified);
      if (!object) return fail(std::move(object).error().context(change.current.key));
      cache->apply_put(std::move(*object));
    }
    for (const Observer& observer : observers_) observer(cache->kind(), cache->last_event());
  }
  return {};
}

// Keys that no kind claims (counters, guards, ticks) are not objects.
KindCache* WatchCache::cache_for(std::string_view key, std::string_view& object_key) {
  const std::size_t group_end = key.find('/');
  if (group_end == std::string_view::npos) return nullptr;
  const std::size_t plural_end = key.find('/', group_end + 1);
  if (plural_end == std::string_view::npos) return nullptr;
  const auto entry = by_prefix_.find(key.substr(0, plural_end + 1));
  if (entry == by_prefix_.end()) return nullptr;
  object_key = key.substr(plural_end + 1);
  return entry->second;
}

std::string WatchCache::guard_key(std::string_view name) {
  return std::string(kGuardPrefix) + std::string(name);
}

store::Revision WatchCache::guard_revision(std::string_view name) const {
  const auto guard = guards_.find(guard_key(name));
  return guard == guards_.end() ? 0 : guard->second;
}

void WatchCache::advance(store::Revision revision) {
  revision_ = revision;
  advanced_.notify();
}

Task<Result<>> WatchCache::wait_ready() {
  while (!ready_) {
    FL_CO_CHECKED(co_await advanced_.wait());
  }
  co_return Result<>{};
}

Task<Result<>> WatchCache::fresh() {
  if (const auto known = store_.revision_now(); known && ready_ && *known <= revision_)
    co_return Result<>{};
  if (!next_check_) next_check_ = std::make_shared<Check>();
  const std::shared_ptr<Check> check = next_check_;
  if (checks_under_way_ < kChecks && !std::exchange(check->begun, true)) {
    ++checks_under_way_;
    scope_.spawn(check_revision());
  }
  while (!check->outcome()) {
    FL_CO_CHECKED(co_await check->wait());
  }
  const Result<store::Revision>& wanted = *check->outcome();
  if (!wanted) co_return fail(wanted.error());
  while (!ready_ || revision_ < *wanted) {
    FL_CO_CHECKED(co_await advanced_.wait());
  }
  co_return Result<>{};
}

// Runs from the next turn of the loop on: who arrives in this one goes along. After its own check
// it takes the one that gathered meanwhile. The moment a check is asked it leaves next_check_, so
// that whoever arrives later waits for a later one.
Task<void> WatchCache::check_revision() {
  while (next_check_) {
    const std::shared_ptr<Check> check = std::exchange(next_check_, nullptr);
    Result<store::Revision> outcome = co_await store_.revision();
    check->end(std::move(outcome));
  }
  --checks_under_way_;
}

namespace {

Task<Result<>> wait_for_revision(const WatchCache& cache, runtime::Signal& advanced,
                                 store::Revision revision) {
  while (!cache.ready() || cache.revision() < revision) {
    FL_CO_CHECKED(co_await advanced.wait());
  }
  co_return Result<>{};
}

}  // namespace

Task<Result<>> WatchCache::reached(store::Revision revision, Duration limit) {
  if (ready_ && revision_ >= revision) co_return Result<>{};
  Task<Result<>> waiting = wait_for_revision(*this, advanced_, revision);
  co_return co_await runtime::with_timeout(runtime_, limit, std::move(waiting));
}

}  // namespace fairlead::watchcache
