// KindCache: the objects of one kind as of the last applied change, the recent history, and the
// watchers. No I/O: WatchCache feeds it changes in order; the API server lists and subscribes.
//
// Invariants
//   1. objects() equals the store's state of this kind at the place of the last applied change.
//   2. Every change after history_start() is in the history: a watch from there on is gap-free.
//   3. History is bounded by count and by bytes.
//   4. So is each watcher's queue. A watcher whose queue overflows is cut (its queue ends); nobody
//      waits for it.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/resource/kind.h"
#include "api/watchcache/event.h"
#include "api/watchcache/subscriber_index.h"
#include "foundation/base/fifo.h"
#include "foundation/base/key_map.h"
#include "foundation/runtime/channel.h"

namespace fairlead::watchcache {

struct HistoryLimits {
  std::size_t events = 16'384;
  std::size_t bytes = 8 << 20;
  // Waiting for one watcher. More bytes than the history has: one that has just resumed is not cut.
  std::size_t watcher_events = 4'096;
  std::size_t watcher_bytes = 16 << 20;
};

class KindCache;

// One watcher's queue. Destroying it ends the subscription.
class Subscription {
 public:
  struct Item {
    EventType type;
    EventRef event;
  };
  Subscription(KindCache& cache, SubscriberIndex::Id id, Selection selection);
  Subscription(const Subscription&) = delete;
  ~Subscription();

  std::optional<Item> take();
  // What take() would return; null: nothing.
  const Item* next() const { return queue_.empty() ? nullptr : &queue_.front(); }
  bool empty() const { return queue_.empty(); }
  // True once the watcher fell too far behind or the cache was reset: nothing more will come.
  bool cut() const { return cut_; }
  // Notified when there is something to take() or it was cut.
  runtime::Signal& changed() { return changed_; }
  const Selection& selection() const { return selection_; }

 private:
  friend class KindCache;
  void offer(const EventRef& event, std::size_t most_events, std::size_t most_bytes);

  KindCache& cache_;
  SubscriberIndex::Id id_;
  Selection selection_;
  Fifo<Item> queue_;
  std::size_t queue_bytes_ = 0;
  runtime::Signal changed_;
  bool cut_ = false;
};

// What `event` is to a watcher with that selection; nothing if it does not concern it.
std::optional<EventType> seen_as(const Selection& selection, const Event& event);

struct PageRequest {
  std::optional<store::Place> at;  // the objects as they were then; not set: now
  std::string after;               // keys after this one
  std::size_t limit = 0;           // 0: all
};

struct Page {
  std::vector<ObjectRef> objects;
  std::string last_key;  // where the next page starts, if `more`
  bool more = false;
  std::size_t remaining = 0;  // how many follow; meaningful for selections by namespace alone
};

class KindCache {
 public:
  using Objects = std::map<std::string, ObjectRef, std::less<>>;  // by Object::key()

  KindCache(const resource::Kind& kind, HistoryLimits limits);

  const resource::Kind& kind() const { return kind_; }
  const Objects& objects() const { return objects_; }
  ObjectRef find(std::string_view key) const;

  // Everything anew, as of the end of `revision`; watchers are cut, history starts over.
  void reset(std::vector<ObjectRef> objects, store::Revision revision);

  // The next change. REQUIRES: `place` is after every one applied before.
  void apply_put(ObjectRef object);
  // False: there is no such object, so nothing happened. (Somebody else wrote below the store's
  // root in etcd what is no object, and erased it again.)
  bool apply_erase(std::string_view key, store::Place place);

  // REQUIRES: a change was applied since the last reset.
  const Event& last_event() const { return *history_.back(); }

  // Changes after this place are known completely.
  store::Place history_start() const { return history_start_; }

  // One page of the objects that match, in key order. Fails with gone when `at` lies before
  // history_start().
  Result<Page> list(const Selection& selection, const PageRequest& request) const;

  // Changes after `after` that concern the selection are queued at once, later ones as they come.
  // Fails with gone when `after` is before history_start().
  Result<std::unique_ptr<Subscription>> subscribe(Selection selection, store::Place after);

  std::size_t watchers() const { return index_.size(); }
  std::size_t object_count() const { return objects_.size(); }
  std::size_t object_bytes() const { return object_bytes_; }
  std::size_t history_size() const { return history_.size(); }
  std::size_t history_bytes() const { return history_bytes_; }

 private:
  friend class Subscription;
  void record(EventRef event);
  Error too_old(store::Place place) const;
  // What differed at `place` from now: the older version by key, null where there was none.
  Objects undone_since(store::Place place) const;
  std::deque<EventRef>::const_iterator first_after(store::Place place) const;

  const resource::Kind& kind_;
  HistoryLimits limits_;
  Objects objects_;  // in the order of lists
  // The same for finding one: with thousands of objects the tree's path is not in any cache.
  std::unordered_map<std::string_view, Objects::iterator, SecretHash, std::equal_to<>> by_key_;
  std::size_t object_bytes_ = 0;
  std::deque<EventRef> history_;
  std::size_t history_bytes_ = 0;
  store::Place history_start_;
  SubscriberIndex index_;
  std::map<SubscriberIndex::Id, Subscription*> subscriptions_;
  SubscriberIndex::Id next_id_ = 1;
};

}  // namespace fairlead::watchcache
