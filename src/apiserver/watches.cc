#include "apiserver/watches.h"

#include <algorithm>
#include <optional>

#include "apimachinery/list_options.h"
#include "apiserver/reads.h"
#include "apiserver/selection.h"
#include "apiserver/watch_frames.h"
#include "runtime/timed_wait.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::ListOptions;
using apimachinery::refuse;
using store::Place;
using watchcache::Subscription;

constexpr std::size_t kWriteBytes = 64 << 10;
constexpr Duration kBookmarkInterval = 60s;
constexpr Duration kLastBookmarkBefore = 2s;
constexpr Duration kPermissionCheck = 10s;  // of an idle watch; a busy one asks before every write
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

struct Counted {
  explicit Counted(std::uint64_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  std::uint64_t& count_;
};

}  // namespace

struct OpenWatch {
  WatchFrames frames;
  std::unique_ptr<Subscription> subscription;
  std::function<bool()> still_allowed;
  Instant deadline;
  BookmarkClock bookmarks;
  Counted counted;
};

void CloseWatch::operator()(OpenWatch* watch) const { delete watch; }

// A watch as it begins.
struct Watches::Opening {
  WatchFrames frames;
  // Null with a refusal, which the client is told as an event.
  std::unique_ptr<Subscription> subscription;
  std::optional<apimachinery::Status> refusal;
  std::vector<watchcache::ObjectRef> present;  // initial events
  std::optional<Place> initial_end;            // to be marked by a bookmark
  bool bookmarks = false;
  Duration limit{};
};

Task<Result<OpenWatchRef>> Watches::open(Request& request, std::function<bool()> still_allowed) {
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
  const Instant deadline = now + opening.limit;
  co_return OpenWatchRef(new OpenWatch{.frames = std::move(frames),
                                       .subscription = std::move(opening.subscription),
                                       .still_allowed = std::move(still_allowed),
                                       .deadline = deadline,
                                       .bookmarks = BookmarkClock(opening.bookmarks, now, deadline),
                                       .counted = Counted(open_)});
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
        co_await cache_.reached(Place::from_number(asked).revision, kFutureVersionWait);
    if (!reached)
      co_return refuse(apimachinery::too_large_resource_version(
          asked, Place::end_of(cache_.revision()).number()));
  }

  const Duration limit = options->timeout
                             ? Duration(*options->timeout)
                             : Duration(std::chrono::seconds(
                                   kMinTimeoutSeconds + runtime_.random() % kMinTimeoutSeconds));
  Opening opening{.frames = WatchFrames(kind, std::move(*form), *include),
                  .bookmarks = options->allow_bookmarks,
                  .limit = limit};
  watchcache::KindCache& objects = cache_.of(kind);
  const Place now_shown = Place::end_of(cache_.revision());
  const Place after = initial || asked == 0 ? now_shown : Place::from_number(asked);
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
  for (;;) {
    if (watch.still_allowed && !watch.still_allowed()) break;
    while (!batch.full()) {
      const std::optional<Subscription::Item> item = subscription.take();
      if (!item) break;
      batch.add(watch.frames.event(item->type, *item->event, runtime_.wall_now()));
      ++events_sent_;
    }
    // Who was cut has not heard everything: a bookmark would make it miss the rest for good.
    const bool heard_everything = subscription.empty() && !subscription.cut();
    if (heard_everything && !batch.full() && watch.bookmarks.due(runtime_.now()))
      batch.add(
          watch.frames.bookmark(Place::end_of(cache_.revision()), false, runtime_.wall_now()));
    if (!batch.empty()) {
      FL_CO_CHECKED(co_await exchange.write(batch.take()));
      continue;
    }
    if (subscription.cut()) {
      ++cut_;
      break;
    }
    const Instant now = runtime_.now();
    if (now >= watch.deadline) break;
    Instant until = watch.bookmarks.next(watch.deadline);
    if (watch.still_allowed) until = std::min(until, now + kPermissionCheck);
    runtime::TimedWait change(runtime_, subscription.changed(), until);
    const Result<> woken = co_await change;
    if (!woken && woken.error().code == Code::cancelled) co_return woken;
  }
  co_return co_await exchange.finish();
}

}  // namespace fairlead::apiserver
