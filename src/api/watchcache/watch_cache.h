// WatchCache: every object of the server in memory, fed by one watch over the whole store. The API
// server reads nothing but this.
//
// Consistent reads: fresh() returns once the cache shows everything that was acknowledged before
// the call, by anyone. Callers that arrive in one turn of the loop share a check of the store's
// revision; whoever arrives after it was asked starts the next at once, up to kChecks under way,
// and beyond that shares the one that is asked as soon as one of them is answered. When the store
// lost history (gone), the cache lists anew, and every watcher is cut.
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

  // Loads everything, then follows the store until cancelled. Returns an error only for what cannot
  // be repaired by trying again (corrupt objects name their key). `ready()` turns true after the
  // load.
  Task<Result<>> run();
  bool ready() const { return ready_; }
  Task<Result<>> wait_ready();

  Task<Result<>> fresh();
  // Returns once the cache has reached `revision`; timeout after `limit`.
  Task<Result<>> reached(store::Revision revision, Duration limit);

  store::Revision revision() const { return revision_; }
  // Of a view: that of the kind it shows, whose objects have the stored form.
  KindCache& of(const resource::Kind& kind);
  const KindCache& of(const resource::Kind& kind) const;

  // A guard is a key without an object, written by every transaction that changes what it stands
  // for (say, the subnets of one virtual network): whoever decided on the whole compares its
  // revision and writes it too, so that of two such decisions at once one is taken anew.
  static std::string guard_key(std::string_view name);
  // When it was last written, as far as the cache has come; 0: never.
  store::Revision guard_revision(std::string_view name) const;

  // Called after each applied batch with the events of that batch, in order. For the server's own
  // controllers (garbage collection, namespaces, node relevance); must be quick and must not wait.
  using Observer = std::function<void(const resource::Kind& kind, const Event& event)>;
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }
  // Called after every (re)load.
  void on_reset(std::function<void()> callback) { reset_callbacks_.push_back(std::move(callback)); }

  // With fewer, cores idle while readers wait for round trips in turn; more only make each check
  // carry fewer readers.
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
