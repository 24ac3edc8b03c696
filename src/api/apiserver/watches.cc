#include "api/apiserver/watches.h"

#include <algorithm>
#include <optional>

#include "api/apimachinery/request/list_options.h"
#include "api/apiserver/reads.h"
#include "api/apiserver/selection.h"
#include "api/apiserver/watch_frames.h"
#include "foundation/base/log.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::ListOptions;
using apimachinery::refuse;
using watchcache::Subscription;

constexpr std::size_t kWriteBytes = 64 << 10;
constexpr Duration kBookmarkInterval = 60s;
constexpr Duration kLastBookmarkBefore = 2s;
constexpr Duration kRightInterval = 10s;  // the right to a watch is asked for anew
constexpr std::uint64_t kMinTimeoutSeconds = 1'800;
// A watch that gets no room for so long is ended: until then it keeps alive what it has to tell.
constexpr Duration kRoomPatience = 30s;

constexpr std::size_t kLargeFrame = 16 << 10;
constexpr std::size_t kBookmarkBytes = 1 << 10;

// Gathers frames until they are worth a write. Small ones are joined, which copies them; large ones
// are sent as the bytes that everyone shares.
class Batch {
 public:
  // REQUIRES: wants() a frame of that size.
  void add(const Bytes& frame) {
    if (empty()) {
      first_ = frame;
      return;
    }
    if (!first_.empty()) text_.append(std::exchange(first_, {}).view());
    text_.append(frame.view());
  }
  bool empty() const { return first_.empty() && text_.empty(); }
  bool wants(std::size_t frame) const {
    if (empty()) return true;
    const std::size_t before = first_.size() + text_.size();
    return frame < kLargeFrame && first_.size() < kLargeFrame && before + frame <= kWriteBytes;
  }
  Bytes take() && { return first_.empty() ? Bytes(std::move(text_)) : std::move(first_); }

 private:
  Bytes first_;
  std::string text_;
};

bool wants_initial_events(const ListOptions& options) {
  return options.send_initial_events
             ? *options.send_initial_events
             : options.resource_version.empty() || options.resource_version == "0";
}

// When the next bookmark is due; bookmarks are for those who asked.
class BookmarkClock {
 public:
  BookmarkClock(bool wanted, Instant now, Instant deadline)
      : wanted_(wanted), next_(now + kBookmarkInterval), last_(deadline - kLastBookmarkBefore) {}
  bool due(Instant now) const { return wanted_ && now >= std::min(next_, last_); }
  void told(Instant now) {
    if (now >= last_) last_ = Instant::max();
    next_ = now + kBookmarkInterval;
  }
  Instant next(Instant deadline) const {
    return wanted_ ? std::min({next_, last_, deadline}) : deadline;
  }

 private:
  bool wanted_;
  Instant next_;
  Instant last_;
};

}  // namespace

// What there was when a watch began, as far as it has not been told. The references count, because
// a list may be long; the objects are the cache's.
class Snapshot {
 public:
  explicit Snapshot(WatchRoom::AccountRef account) : hold_(std::move(account), room_) {}

  // False when there is no room for so many; room() is notified when there is.
  bool take(std::vector<watchcache::ObjectRef> objects) {
    if (!hold_.ask(objects.capacity() * sizeof(watchcache::ObjectRef))) return false;
    objects_ = std::move(objects);
    return true;
  }
  runtime::Signal& room() { return room_; }

  const watchcache::Object* next() const {
    return told_ < objects_.size() ? objects_[told_].get() : nullptr;
  }
  watchcache::ObjectRef pop() { return std::move(objects_[told_++]); }

  std::optional<store::Place> end;  // to be marked by a bookmark

 private:
  runtime::Signal room_;
  RoomHold hold_;
  std::vector<watchcache::ObjectRef> objects_;
  std::size_t told_ = 0;
};

struct OpenWatch {
  OpenWatch(Watches& its_watches, Watches::Opening opening, std::unique_ptr<WatchRight> its_right,
            Instant now, Instant first_check);
  ~OpenWatch() { watches.open_.erase(place); }
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;

  // What the next frame takes at most; nothing: there is none to send.
  std::optional<std::size_t> next_bytes(Instant now) const;
  // REQUIRES: next_bytes() says that there is one.
  Bytes next_frame(Instant now, WallTime wall_now);
  // As many frames as are worth a write and have room. REQUIRES: there is one, and room for it.
  Bytes next_write(Instant now, WallTime wall_now);

  Watches& watches;
  WatchFrames frames;
  std::unique_ptr<Subscription> subscription;
  std::unique_ptr<Snapshot> snapshot;  // null when all of it was told
  RoomHold hold;                       // for the next write; notifies the subscription's signal
  std::unique_ptr<WatchRight> right;
  Instant deadline;
  Instant room_deadline = Instant::max();  // while it waits for room
  BookmarkClock bookmarks;
  Instant next_check;
  Watches::Place place;
};

void CloseWatch::operator()(OpenWatch* watch) const { delete watch; }

// A watch as it begins.
struct Watches::Opening {
  WatchFrames frames;
  // Null with a refusal, which the client is told as an event.
  std::unique_ptr<Subscription> subscription;
  std::optional<apimachinery::Status> refusal;
  std::unique_ptr<Snapshot> snapshot;  // initial events
  bool bookmarks = false;
  Duration limit{};
};

OpenWatch::OpenWatch(Watches& its_watches, Watches::Opening opening,
                     std::unique_ptr<WatchRight> its_right, Instant now, Instant first_check)
    : watches(its_watches),
      frames(std::move(opening.frames)),
      subscription(std::move(opening.subscription)),
      snapshot(std::move(opening.snapshot)),
      hold(watches.frames_room_.account(its_right->user()), subscription->changed()),
      right(std::move(its_right)),
      deadline(now + opening.limit),
      bookmarks(opening.bookmarks, now, deadline),
      next_check(first_check),
      place(right->node(), ++watches.next_number_) {
  watches.open_.emplace(place, this);
}

std::optional<std::size_t> OpenWatch::next_bytes(Instant now) const {
  if (snapshot) {
    const watchcache::Object* object = snapshot->next();
    return object ? frames.most_bytes(*object) : kBookmarkBytes;
  }
  if (const Subscription::Item* item = subscription->next()) {
    const watchcache::Event& event = *item->event;
    const bool gone = item->type == watchcache::EventType::deleted;
    return frames.most_bytes(gone ? *event.before() : *event.after());
  }
  // Who was cut has not heard everything: a bookmark would make it miss the rest for good.
  if (bookmarks.due(now) && !subscription->cut()) return kBookmarkBytes;
  return std::nullopt;
}

Bytes OpenWatch::next_frame(Instant now, WallTime wall_now) {
  if (snapshot) {
    Bytes frame;
    if (snapshot->next()) {
      frame = frames.initial(snapshot->pop(), wall_now);
      ++watches.events_sent_;
    } else {
      frame = frames.bookmark(*std::exchange(snapshot->end, std::nullopt), true, wall_now);
    }
    if (!snapshot->next() && !snapshot->end) snapshot.reset();
    return frame;
  }
  if (const std::optional<Subscription::Item> item = subscription->take()) {
    ++watches.events_sent_;
    return frames.event(item->type, *item->event, wall_now);
  }
  bookmarks.told(now);
  return frames.bookmark(store::Place::end_of(watches.cache_.revision()), false, wall_now);
}

Bytes OpenWatch::next_write(Instant now, WallTime wall_now) {
  Batch batch;
  std::optional<std::size_t> next;
  do {
    batch.add(next_frame(now, wall_now));
    next = next_bytes(now);
  } while (next && batch.wants(*next) && hold.extend(*next));
  Bytes joined = std::move(batch).take();
  hold.keep(joined.size());
  return hold.charge(std::move(joined));
}

Task<Result<OpenWatchRef>> Watches::open(Request& request, std::unique_ptr<WatchRight> right) {
  auto subscribed = co_await subscribe(request);
  if (!subscribed) {
    FL_CO_CHECKED(co_await send_status(request, std::move(subscribed).error()));
    co_return nullptr;
  }
  Opening& opening = *subscribed;
  FL_CO_CHECKED(co_await request.exchange.start(stream_head(request, kJsonType)));
  if (opening.refusal) {
    FL_CO_CHECKED(co_await request.exchange.write(opening.frames.error(*opening.refusal)));
    FL_CO_CHECKED(co_await request.exchange.finish());
    co_return nullptr;
  }
  const Instant now = runtime_.now();
  // Watches that began together, after a restart, do not ask together for ever.
  const Instant first_check = now + Duration(runtime_.random() % kRightInterval.count());
  co_return OpenWatchRef(
      new OpenWatch(*this, std::move(opening), std::move(right), now, first_check));
}

Task<apimachinery::Answer<Watches::Opening>> Watches::subscribe(Request& request) {
  const resource::Kind& kind = *request.kind;
  auto form = apimachinery::negotiate(
      request.header("Accept"), {.table = true, .partial_metadata = true, .watch = true},
      request.header("User-Agent"), request.query.get_or_empty("pretty"));
  if (!form) co_return refuse(form.error());
  const auto options = apimachinery::parse_list_options(request.query, kind);
  if (!options) co_return refuse(options.error());
  const auto include =
      apimachinery::parse_include_object(request.query.get_or_empty("includeObject"));
  if (!include) co_return refuse(include.error());

  const std::uint64_t asked = options->revision().value_or(0);
  const bool initial = wants_initial_events(*options);
  if (asked == 0) {
    const Result<> fresh = co_await cache_.fresh();
    if (!fresh) co_return refuse(apimachinery::status_of(fresh.error()));
  } else {
    const Result<> reached =
        co_await cache_.reached(store::Place::from_number(asked).revision, kFutureVersionWait);
    if (!reached)
      co_return refuse(apimachinery::too_large_resource_version(
          asked, store::Place::end_of(cache_.revision()).number()));
  }

  const Duration limit = options->timeout
                             ? Duration(*options->timeout)
                             : Duration(std::chrono::seconds(
                                   kMinTimeoutSeconds + runtime_.random() % kMinTimeoutSeconds));
  Opening opening{.frames = WatchFrames(kind, std::move(*form), *include),
                  .bookmarks = options->allow_bookmarks,
                  .limit = limit};
  watchcache::KindCache& objects = cache_.of(kind);
  watchcache::Selection selection =
      make_selection(kind, request.info.namespace_name, request.info.name, *options);
  if (initial) {
    opening.snapshot = std::make_unique<Snapshot>(snapshots_room_.account(*request.user));
    const Instant patience = runtime_.now() + kRoomPatience;
    while (!opening.snapshot->take(objects.list(selection, {})->objects)) {
      runtime::TimedWait room(runtime_, opening.snapshot->room(), patience);
      const Result<> woken = co_await room;
      if (!woken)
        co_return refuse(apimachinery::too_many_requests(
            "too many watches wait to be read, please try again later.", 1));
    }
  }
  // From here to the subscription nothing waits: it begins where the snapshot ends.
  const store::Place now_shown = store::Place::end_of(cache_.revision());
  const store::Place after = initial || asked == 0 ? now_shown : store::Place::from_number(asked);
  if (initial && options->send_initial_events && options->allow_bookmarks)
    opening.snapshot->end = now_shown;
  if (initial && !opening.snapshot->next() && !opening.snapshot->end) opening.snapshot.reset();
  auto subscribed = objects.subscribe(std::move(selection), after);
  if (subscribed) {
    opening.subscription = std::move(*subscribed);
  } else {
    opening.refusal = apimachinery::expired(subscribed.error().message);
  }
  co_return std::move(opening);
}

Task<Result<>> Watches::stream(http::Exchange& exchange, OpenWatch& watch) {
  Subscription& subscription = *watch.subscription;
  while (!ending_) {
    const Instant now = runtime_.now();
    if (now >= watch.next_check || !watch.right->covers_what_is_there()) {
      const bool holds = co_await renew(exchange, watch);
      if (!holds) break;
      continue;
    }
    const std::optional<std::size_t> next = watch.next_bytes(now);
    if (next && watch.hold.ask(*next)) {
      watch.room_deadline = Instant::max();
      FL_CO_CHECKED(co_await exchange.write(watch.next_write(now, runtime_.wall_now())));
      continue;
    }
    if (next) watch.room_deadline = std::min(watch.room_deadline, now + kRoomPatience);
    if (next ? now >= watch.room_deadline : subscription.cut()) {
      ++cut_;
      break;
    }
    if (now >= watch.deadline) break;
    const Instant due =
        next ? std::min(watch.room_deadline, watch.deadline) : watch.bookmarks.next(watch.deadline);
    runtime::TimedWait change(runtime_, subscription.changed(), std::min(due, watch.next_check));
    const Result<> woken = co_await change;
    if (!woken && woken.error().code == Code::cancelled) co_return woken;
  }
  co_return co_await exchange.finish();
}

Task<bool> Watches::renew(http::Exchange& exchange, OpenWatch& watch) {
  watch.next_check = runtime_.now() + kRightInterval;
  const bool holds = co_await watch.right->holds(exchange.peer());
  // What a node's rights follow may have changed once more while somebody was asked.
  if (holds && watch.right->covers_what_is_there()) co_return true;
  ++revoked_;
  log::info("watch ended: its right has ended",
            {{"user", watch.right->user().name}, {"resource", watch.right->kind().plural}});
  co_return false;
}

void Watches::recheck(std::string_view node) {
  if (node.empty()) return;
  for (auto at = open_.lower_bound({std::string(node), 0});
       at != open_.end() && at->first.first == node; ++at) {
    at->second->next_check = Instant::min();
    at->second->subscription->changed().notify();
  }
}

void Watches::end_all() {
  ending_ = true;
  for (const auto& [place, watch] : open_) watch->subscription->changed().notify();
}

}  // namespace fairlead::apiserver
