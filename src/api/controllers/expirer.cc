#include "api/controllers/expirer.h"

#include <algorithm>
#include <vector>

#include "api/control/loop.h"
#include "api/controllers/object_id.h"
#include "foundation/base/log.h"
#include "foundation/base/time_text.h"

namespace fairlead::controllers {
namespace {

constexpr Duration kInterval = 30s;

}  // namespace

resource::Moment last_written(const Json& object, resource::Moment now) {
  resource::Moment latest{};
  for (const std::string_view path :
       {"metadata.creationTimestamp", "lastTimestamp", "eventTime", "series.lastObservedTime"}) {
    const std::string_view text = wire::find_string(object, path);
    if (text.empty()) continue;
    // A time that has not come yet would keep it for ever.
    const auto time = parse_rfc3339(text);
    if (time && *time <= now) latest = std::max<resource::Moment>(latest, *time);
  }
  return latest;
}

Task<void> Expirer::run() {
  const auto sweep = [this] { return sweep_all(); };
  co_await control::every(runtime_, kInterval, sweep);
}

Task<void> Expirer::sweep_all() {
  for (const resource::Kind* kind : catalog_.stored_kinds())
    if (kind->time_to_live.count() > 0) co_await sweep(*kind);
}

Task<void> Expirer::sweep(const resource::Kind& kind) {
  const resource::Moment now = runtime_.wall_now();
  const resource::Moment limit = now - kind.time_to_live;
  const std::int64_t limit_seconds =
      std::chrono::floor<std::chrono::seconds>(limit.time_since_epoch()).count();
  std::vector<watchcache::ObjectRef> expired, kept;
  for (const auto& [key, object] : cache_.of(kind).objects()) {
    const bool old =
        object->created_at < limit_seconds && last_written(object->decode(), now) < limit;
    (old ? expired : kept).push_back(object);
  }
  std::size_t bytes = 0;
  for (const watchcache::ObjectRef& object : kept) bytes += object->json.size();
  if (kept.size() > most_ || bytes > most_bytes_) {
    std::ranges::sort(kept, {}, [](const watchcache::ObjectRef& object) { return object->place; });
    std::size_t left = kept.size();
    for (const watchcache::ObjectRef& object : kept) {
      if (left <= most_ && bytes <= most_bytes_) break;
      expired.push_back(object);
      bytes -= object->json.size();
      --left;
    }
  }
  for (const watchcache::ObjectRef& object : expired) {
    const Result<> deleted =
        co_await delete_object(writer_, ObjectId::of(kind, *object), object->uid,
                               apimachinery::Propagation::background, now);
    if (!deleted) {
      log::warning("expired objects not removed",
                   {{"kind", kind.kind}, {"error", deleted.error().to_string()}});
      co_return;
    }
  }
}

}  // namespace fairlead::controllers
