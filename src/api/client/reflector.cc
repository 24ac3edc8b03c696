#include "api/client/reflector.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"

namespace fairlead::client {
namespace {

constexpr std::uint64_t kWatchSeconds = 300;
constexpr Duration kWatchGrace = 30s;
constexpr runtime::BackOff::Limits kRetries{.first = 1600ms, .longest = 60s, .jitter = true};

}  // namespace

Reflector::Reflector(runtime::Runtime& runtime, RestClient& client, ReflectorOptions options,
                     ObjectSink& sink)
    : runtime_(runtime),
      client_(client),
      options_(std::move(options)),
      sink_(sink),
      back_off_(kRetries) {}

ListQuery Reflector::query() const {
  return {.namespace_name = options_.namespace_name,
          .label_selector = options_.label_selector,
          .field_selector = options_.field_selector};
}

Task<void> Reflector::run() {
  for (;;) {
    Result<> outcome;
    watching_since_.reset();
    if (!listed_) outcome = co_await list_all();
    if (outcome) outcome = co_await watch_once();
    if (watching_since_) back_off_.held(runtime_.now() - *watching_since_);
    if (outcome) continue;
    const Error& error = outcome.error();
    if (error.code == Code::cancelled) co_return;
    ++counters_.failures;
    failing_ = true;
    if (error.code == Code::gone) {
      // What we know is too old to go on from, as after a restart of the server: the newest, then,
      // and at once if this was not so the last time, too.
      listed_ = false;
      newest_needed_ = true;
      if (!std::exchange(started_over_, true)) continue;
    }
    // What only a person can put right is worth a person's attention; the rest passes.
    const bool refused = error.code == Code::forbidden || error.code == Code::unauthorized;
    log::write(refused ? log::Level::warning : log::Level::debug, "reflector tries again",
               {{"resource", options_.resource.plural}, {"error", error.to_string()}});
    const Result<> paused = co_await back_off_.pause(runtime_);
    if (!paused) co_return;
  }
}

Task<Result<>> Reflector::list_all() {
  ++counters_.lists;
  std::vector<Json> objects;
  ListQuery page = query();
  page.limit = options_.page;
  if (!newest_needed_ && !options_.newest) page.resource_version = "0";
  ListResult result;
  do {
    FL_CO_TRY(result, co_await client_.list(options_.resource, page));
    std::ranges::move(result.items, std::back_inserter(objects));
    page.resource_version.clear();
    page.continue_token = result.continue_token;
  } while (!result.continue_token.empty());
  sink_.replace(std::move(objects), result.resource_version);
  version_ = std::move(result.resource_version);
  listed_ = true;
  newest_needed_ = false;
  co_return Result<>{};
}

Task<Result<>> Reflector::watch_once() {
  ++counters_.watches;
  ListQuery from = query();
  from.resource_version = version_;
  const std::chrono::seconds timeout(kWatchSeconds + runtime_.random() % kWatchSeconds);
  FL_CO_TRY(const std::unique_ptr<WatchStream> stream,
            co_await client_.watch(options_.resource, from, timeout));
  watching_since_ = runtime_.now();
  failing_ = false;
  // The server ends the stream at its time limit. If nothing ends it, the connection is dead
  // without our knowing (HTTP/1.1 has no way to ask), and it is given up a little later.
  const Instant deadline = runtime_.now() + timeout + kWatchGrace;
  for (;;) {
    Task<Result<std::optional<WatchEvent>>> waiting = stream->next();
    FL_CO_TRY(
        std::optional<WatchEvent> event,
        co_await runtime::with_timeout(runtime_, deadline - runtime_.now(), std::move(waiting)));
    started_over_ = false;
    if (!event) co_return Result<>{};
    std::string version(wire::find_string(event->object, "metadata.resourceVersion"));
    switch (event->type) {
      case WatchEvent::Type::added:
      case WatchEvent::Type::modified:
        sink_.put(event->object);
        break;
      case WatchEvent::Type::deleted:
        sink_.erase(event->object);
        break;
      case WatchEvent::Type::bookmark:
        sink_.reached(version);
        break;
    }
    if (event->type != WatchEvent::Type::bookmark) ++counters_.events;
    if (!version.empty()) version_ = std::move(version);
  }
}

}  // namespace fairlead::client
