// WatchCache: every object of the server in memory, fed by one watch over the whole store. All
// reads, watches and controllers of the server use it; only commits and backups go to the store.
//
// Consistent reads: fresh() returns once the cache shows everything that was acknowledged before
// the call, by any server. Where this process is the only writer (Store::revision_now) that costs
// nothing. Otherwise the store is asked for its revision: callers that arrive in one turn of the
// loop share a check, later ones start another, up to kChecks at once; beyond that they share the
// one that starts when the first of those is answered.
//
// When the store's watch fails for whatever reason (also gone: history was compacted), the cache
// loads everything anew after half a second, and every watcher is cut.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/resource/catalog.h"
#include "api/store/store.h"
#include "api/watchcache/kind_cache.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::watchcache {

class WatchCache {
 public:
  WatchCache(runtime::Runtime& runtime, store::Store& store, const resource::Catalog& catalog,
             HistoryLimits limits = {});
  ~WatchCache();

  // Loads everything, then follows the store, and starts over when that fails. Returns only with
  // cancelled, or with corrupt, which names the key of an object that cannot be decoded. ready() is
  // true from the first load on.
  Task<Result<>> run();
  bool ready() const { return ready_; }
  Task<Result<>> wait_ready();

  // See above. Fails with the store's error when its revision cannot be read.
  Task<Result<>> fresh();
  // Returns once the cache has reached `revision`; fails with timeout after `limit`.
  Task<Result<>> reached(store::Revision revision, Duration limit);

  store::Revision revision() const { return revision_; }
  // A view shares the cache of the kind that it is stored as. REQUIRES: the catalog has the kind.
  KindCache& of(const resource::Kind& kind);
  const KindCache& of(const resource::Kind& kind) const;

  // A guard is a key without an object that stands for a set of objects, such as all those that may
  // not overlap one another. Every transaction that changes the set writes it, and a transaction
  // that was decided on the whole set compares its revision too: of two such transactions at once,
  // one conflicts and is decided anew.
  static std::string guard_key(std::string_view name);
  // The revision at which the guard was last written, as of revision(); 0: never.
  store::Revision guard_revision(std::string_view name) const;

  // Called with every event as soon as it is applied, in order; revision() moves on only after the
  // last event of a batch. For indexes and controllers of the server; must be quick and must not
  // wait.
  using Observer = std::function<void(const resource::Kind& kind, const Event& event)>;
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }
  // Called after every load, the first and each later one. What a load changes is not told to
  // observers.
  void on_reset(std::function<void()> callback) { reset_callbacks_.push_back(std::move(callback)); }

  // Checks of the store's revision under way at once. With fewer, readers wait for one round trip
  // after the other; with more, each check only serves fewer readers.
  static constexpr std::size_t kChecks = 4;

 private:
  struct Check;
  Task<Result<store::Revision>> load();
  Task<Result<>> follow(store::Revision from);
  Result<> apply(const store::ChangeBatch& batch);
  KindCache* cache_for(std::string_view key, std::string_view& object_key);
  void advance(store::Revision revision);
  Task<void> check_revision();

  runtime::Runtime& runtime_;
  store::Store& store_;
  std::vector<std::unique_ptr<KindCache>> caches_;
  std::map<const resource::Kind*, KindCache*> by_kind_;
  std::map<std::string, KindCache*, std::less<>> by_prefix_;
  std::map<std::string, store::Revision, std::less<>> guards_;  // by key
  std::vector<Observer> observers_;
  std::vector<std::function<void()>> reset_callbacks_;

  store::Revision revision_ = 0;
  bool ready_ = false;
  runtime::Signal advanced_;

  std::shared_ptr<Check> next_check_;  // gathers callers until it is asked
  std::size_t checks_under_way_ = 0;
  runtime::Scope scope_;
};

}  // namespace fairlead::watchcache
