#include "api/watchcache/kind_cache.h"

#include <algorithm>
#include <limits>

#include "foundation/base/check.h"

namespace fairlead::watchcache {
namespace {

// How many of the latest events keep what watchers are sent, each a copy of the object.
constexpr std::size_t kEventsWithFrames = 64;
// Where nobody has ever watched, only the pages of a long list look back: a part of the history
// does. Events and Leases are written all the time and are usually not watched.
constexpr std::size_t kUnwatchedPart = 4;

// Walks today's objects with an older layer over them: where the older layer has a key it wins, and
// its null means that the object did not exist then.
class MergedWalk {
 public:
  MergedWalk(const KindCache::Objects& current, const KindCache::Objects& older,
             const std::string& from, const std::string& after)
      : current_(current.lower_bound(from)),
        current_end_(current.end()),
        older_(older.lower_bound(from)),
        older_end_(older.end()),
        after_(after) {}

  // The next object, or null at the end; key() is its key.
  const ObjectRef* next() {
    for (;;) {
      const bool has_current = current_ != current_end_;
      const bool has_older = older_ != older_end_;
      if (!has_current && !has_older) return nullptr;
      const bool take_older = has_older && (!has_current || older_->first <= current_->first);
      const auto& [key, object] = take_older ? *older_ : *current_;
      if (has_current && (!take_older || current_->first == key)) ++current_;
      if (take_older) ++older_;
      if (!object || key == after_) continue;
      key_ = key;
      return &object;
    }
  }
  std::string_view key() const { return key_; }

 private:
  KindCache::Objects::const_iterator current_, current_end_, older_, older_end_;
  std::string_view after_;
  std::string_view key_;
};

}  // namespace

std::optional<EventType> seen_as(const Selection& selection, const Event& event) {
  const bool was = event.before() && selection.matches(*event.before());
  const bool is = event.after() && selection.matches(*event.after());
  if (was && is) return EventType::modified;
  if (is) return EventType::added;
  if (was) return EventType::deleted;
  return std::nullopt;
}

Subscription::Subscription(KindCache& cache, SubscriberIndex::Id id, Selection selection)
    : cache_(cache), id_(id), selection_(std::move(selection)) {
  cache_.index_.add(id_, selection_);
  cache_.subscriptions_.emplace(id_, this);
}

Subscription::~Subscription() {
  cache_.index_.remove(id_, selection_);
  cache_.subscriptions_.erase(id_);
}

std::optional<Subscription::Item> Subscription::take() {
  if (queue_.empty()) return std::nullopt;
  Item item = std::move(queue_.front());
  queue_.pop_front();
  queue_bytes_ -= item.event->bytes();
  return item;
}

void Subscription::offer(const EventRef& event, std::size_t most_events, std::size_t most_bytes) {
  if (cut_) return;
  const std::optional<EventType> type = seen_as(selection_, *event);
  if (!type) return;
  if (queue_.size() >= most_events || (!queue_.empty() && queue_bytes_ >= most_bytes)) {
    cut_ = true;  // what is queued is still delivered; the watcher then resumes from there
  } else {
    queue_.push_back({*type, event});
    queue_bytes_ += event->bytes();
  }
  changed_.notify();
}

KindCache::KindCache(const resource::Kind& kind, HistoryLimits limits)
    : kind_(kind), limits_(limits) {}

ObjectRef KindCache::find(std::string_view key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? nullptr : at->second->second;
}

void KindCache::reset(std::vector<ObjectRef> objects, store::Revision revision) {
  by_key_.clear();
  objects_.clear();
  object_bytes_ = 0;
  for (ObjectRef& object : objects) {
    object_bytes_ += object->json.size();
    std::string key = object->key();
    const auto at = objects_.emplace_hint(objects_.end(), std::move(key), std::move(object));
    by_key_.emplace(at->first, at);
  }
  history_.clear();
  history_bytes_ = 0;
  history_start_ = store::Place::end_of(revision);
  for (auto& [id, subscription] : subscriptions_) {
    subscription->cut_ = true;
    subscription->changed_.notify();
  }
}

void KindCache::apply_put(ObjectRef object) {
  std::string key = object->key();
  auto known = by_key_.find(key);
  if (known == by_key_.end()) {
    const auto at = objects_.try_emplace(std::move(key)).first;
    known = by_key_.emplace(at->first, at).first;
  }
  ObjectRef& slot = known->second->second;
  object_bytes_ += object->json.size();
  if (slot) object_bytes_ -= slot->json.size();
  ObjectRef before = std::exchange(slot, object);
  const store::Place place = object->place;
  record(std::make_shared<Event>(std::move(before), std::move(object), place));
}

bool KindCache::apply_erase(std::string_view key, store::Place place) {
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return false;
  const Objects::iterator at = known->second;
  ObjectRef before = std::move(at->second);
  object_bytes_ -= before->json.size();
  by_key_.erase(known);
  objects_.erase(at);
  record(std::make_shared<Event>(std::move(before), nullptr, place));
  return true;
}

void KindCache::record(EventRef event) {
  CHECK(history_.empty() || history_.back()->place() < event->place());
  for (const SubscriberIndex::Id id :
       index_.candidates(event->before().get(), event->after().get()))
    subscriptions_.at(id)->offer(event, limits_.watcher_events, limits_.watcher_bytes);
  history_bytes_ += event->bytes();
  history_.push_back(std::move(event));
  if (history_.size() > kEventsWithFrames)
    history_[history_.size() - 1 - kEventsWithFrames]->forget_frames();
  const bool ever_watched = next_id_ > 1;
  const std::size_t most_bytes = ever_watched ? limits_.bytes : limits_.bytes / kUnwatchedPart;
  while (history_.size() > 1 && (history_.size() > limits_.events || history_bytes_ > most_bytes)) {
    history_start_ = history_.front()->place();
    history_bytes_ -= history_.front()->bytes();
    history_.pop_front();
  }
}

std::deque<EventRef>::const_iterator KindCache::first_after(store::Place place) const {
  return std::ranges::upper_bound(history_, place, {},
                                  [](const EventRef& event) { return event->place(); });
}

KindCache::Objects KindCache::undone_since(store::Place place) const {
  Objects older;
  for (auto event = history_.end(); event != first_after(place);) {
    --event;
    const ObjectRef& before = (*event)->before();
    older.insert_or_assign((before ? before : (*event)->after())->key(), before);
  }
  return older;
}

Result<Page> KindCache::list(const Selection& selection, const PageRequest& request) const {
  if (request.at && *request.at < history_start_) return fail(too_old(*request.at));
  const Objects older = request.at ? undone_since(*request.at) : Objects{};
  const std::string prefix = selection.namespace_name.empty() ? "" : selection.namespace_name + "/";
  MergedWalk walk(objects_, older, std::max(prefix, request.after), request.after);
  Page page;
  for (; const ObjectRef* object = walk.next();) {
    if (!prefix.empty() && !walk.key().starts_with(prefix)) break;
    if (page.more) {
      ++page.remaining;
      continue;
    }
    if (!selection.matches(**object)) continue;
    if (request.limit && page.objects.size() == request.limit) {
      page.more = true;
      page.remaining = 1;
      continue;
    }
    page.objects.push_back(*object);
    page.last_key = walk.key();
  }
  return page;
}

Error KindCache::too_old(store::Place place) const {
  return {Code::gone, "too old resource version: " + std::to_string(place.number()) + " (" +
                          std::to_string(history_start_.number()) + ")"};
}

Result<std::unique_ptr<Subscription>> KindCache::subscribe(Selection selection,
                                                           store::Place after) {
  if (after < history_start_) return fail(too_old(after));
  auto subscription = std::make_unique<Subscription>(*this, next_id_++, std::move(selection));
  // The whole past counts as one delivery: it is bounded by the history itself.
  for (auto event = first_after(after); event != history_.end(); ++event)
    subscription->offer(*event, history_.size(), std::numeric_limits<std::size_t>::max());
  return subscription;
}

}  // namespace fairlead::watchcache
