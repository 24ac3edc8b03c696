#include "apiserver/watches.h"

#include <algorithm>
#include <optional>

#include "apimachinery/list_options.h"
#include "apiserver/reads.h"
#include "apiserver/selection.h"
#include "apiserver/watch_frames.h"
#include "base/log.h"
#include "runtime/timed_wait.h"

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

// Joined text that waits for clients to take it, of all watches together.
constexpr std::size_t kJoinedBytes = 32 << 20;
constexpr std::size_t kLargeFrame = 16 << 10;

// Gathers frames until they are worth a write. Small ones are joined, which copies them, as long as
// not too much waits in such copies; large ones are always sent as the bytes that everyone shares.
class Batch {
 public:
  explicit Batch(std::shared_ptr<std::size_t> joined) : joined_(std::move(joined)) {}
  // REQUIRES: !full().
  void add(const Bytes& frame) {
    if (empty()) {
      first_ = frame;
    } else if (frame.size() >= kLargeFrame || *joined_ >= kJoinedBytes) {
      next_ = frame;
    } else {
      if (!first_.empty()) {
        text_.append(first_.view());
        first_ = {};
      }
      text_.append(frame.view());
    }
  }
  bool empty() const { return first_.empty() && text_.empty(); }
  bool full() const {
    return text_.size() >= kWriteBytes || first_.size() >= kLargeFrame || !next_.empty();
  }
  Bytes take() {
    Bytes taken = first_.empty() ? joined(std::exchange(text_, {})) : std::exchange(first_, {});
    first_ = std::exchange(next_, {});
    return taken;
  }

 private:
  // Counted for as long as it exists.
  struct Joined {
    Joined(std::string its_text, std::shared_ptr<std::size_t> its_count)
        : text(std::move(its_text)), count(std::move(its_count)) {
      *count += text.size();
    }
    Joined(const Joined&) = delete;
    ~Joined() { *count -= text.size(); }
    const std::string text;
    const std::shared_ptr<std::size_t> count;
  };
  Bytes joined(std::string text) const {
    const auto owner = std::make_shared<const Joined>(std::move(text), joined_);
    return Bytes::share(owner, owner->text);
  }

  std::shared_ptr<std::size_t> joined_;
  Bytes first_;
  std::string text_;
  Bytes next_;
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
  bool due(Instant now) {
    if (!wanted_ || now < std::min(next_, last_)) return false;
    if (now >= last_) last_ = Instant::max();
    next_ = now + kBookmarkInterval;
    return true;
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

struct OpenWatch {
  OpenWatch(Watches& its_watches, Watches::Opening opening, std::unique_ptr<WatchRight> its_right,
            Instant now, Instant first_check);
  ~OpenWatch() { watches.open_.erase(place); }
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;

  Watches& watches;
  WatchFrames frames;
  std::unique_ptr<Subscription> subscription;
  std::unique_ptr<WatchRight> right;
  Instant deadline;
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
  std::vector<watchcache::ObjectRef> present;  // initial events
  std::optional<store::Place> initial_end;     // to be marked by a bookmark
  bool bookmarks = false;
  Duration limit{};
};

OpenWatch::OpenWatch(Watches& its_watches, Watches::Opening opening,
                     std::unique_ptr<WatchRight> its_right, Instant now, Instant first_check)
    : watches(its_watches),
      frames(std::move(opening.frames)),
      subscription(std::move(opening.subscription)),
      right(std::move(its_right)),
      deadline(now + opening.limit),
      bookmarks(opening.bookmarks, now, deadline),
      next_check(first_check),
      place(right->node(), ++watches.next_number_) {
  watches.open_.emplace(place, this);
}

Task<Result<OpenWatchRef>> Watches::open(Request& request, std::unique_ptr<WatchRight> right) {
  auto subscribed = co_await subscribe(request);
  if (!subscribed) {
    FL_CO_CHECKED(co_await send_status(request, std::move(subscribed).error()));
    co_return nullptr;
  }
  Opening& opening = *subscribed;
  FL_CO_CHECKED(co_await request.exchange.start(stream_head(request, kJsonType)));
  WatchFrames& frames = opening.frames;
  if (opening.refusal) {
    FL_CO_CHECKED(co_await request.exchange.write(frames.error(*opening.refusal)));
    FL_CO_CHECKED(co_await request.exchange.finish());
    co_return nullptr;
  }
  Batch batch(joined_bytes_);
  for (const watchcache::ObjectRef& object : opening.present) {
    batch.add(frames.initial(object, runtime_.wall_now()));
    ++events_sent_;
    while (batch.full()) {
      FL_CO_CHECKED(co_await request.exchange.write(batch.take()));
    }
  }
  if (opening.initial_end)
    batch.add(frames.bookmark(*opening.initial_end, true, runtime_.wall_now()));
  while (!batch.empty()) {
    FL_CO_CHECKED(co_await request.exchange.write(batch.take()));
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
  const store::Place now_shown = store::Place::end_of(cache_.revision());
  const store::Place after = initial || asked == 0 ? now_shown : store::Place::from_number(asked);
  watchcache::Selection selection =
      make_selection(kind, request.info.namespace_name, request.info.name, *options);
  if (initial) opening.present = objects.list(selection, {})->objects;
  if (initial && options->send_initial_events && options->allow_bookmarks)
    opening.initial_end = now_shown;
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
  Batch batch(joined_bytes_);
  while (!ending_) {
    if (runtime_.now() >= watch.next_check || !watch.right->covers_what_is_there()) {
      const bool holds = co_await renew(exchange, watch);
      if (!holds) break;
      continue;
    }
    while (!batch.full()) {
      const std::optional<Subscription::Item> item = subscription.take();
      if (!item) break;
      batch.add(watch.frames.event(item->type, *item->event, runtime_.wall_now()));
      ++events_sent_;
    }
    // Who was cut has not heard everything: a bookmark would make it miss the rest for good.
    const bool heard_everything = subscription.empty() && !subscription.cut();
    if (heard_everything && !batch.full() && watch.bookmarks.due(runtime_.now()))
      batch.add(watch.frames.bookmark(store::Place::end_of(cache_.revision()), false,
                                      runtime_.wall_now()));
    if (!batch.empty()) {
      FL_CO_CHECKED(co_await exchange.write(batch.take()));
      continue;
    }
    if (subscription.cut()) {
      ++cut_;
      break;
    }
    if (runtime_.now() >= watch.deadline) break;
    const Instant until = std::min(watch.bookmarks.next(watch.deadline), watch.next_check);
    runtime::TimedWait change(runtime_, subscription.changed(), until);
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
