#include "controllers/expirer.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "base/time_text.h"
#include "controllers/object_id.h"

namespace fairlead::controllers {
namespace {

constexpr Duration kInterval = 30s;

}  // namespace

resource::Moment last_written(const Json& object) {
  resource::Moment latest{};
  for (const std::string_view path :
       {"metadata.creationTimestamp", "lastTimestamp", "eventTime", "series.lastObservedTime"}) {
    const std::string_view text = wire::find_string(object, path);
    if (text.empty()) continue;
    if (const auto time = parse_rfc3339(text)) latest = std::max<resource::Moment>(latest, *time);
  }
  return latest;
}

Task<void> Expirer::run() {
  for (;;) {
    const Result<> slept = co_await runtime::sleep(runtime_, kInterval);
    if (!slept) co_return;
    for (const resource::Kind* kind : catalog_.stored_kinds())
      if (kind->time_to_live.count() > 0) co_await sweep(*kind);
  }
}

Task<void> Expirer::sweep(const resource::Kind& kind) {
  const resource::Moment now = runtime_.wall_now();
  const resource::Moment limit = now - kind.time_to_live;
  const std::int64_t limit_seconds =
      std::chrono::floor<std::chrono::seconds>(limit.time_since_epoch()).count();
  std::vector<watchcache::ObjectRef> expired, kept;
  for (const auto& [key, object] : cache_.of(kind).objects()) {
    const bool old = object->created_at < limit_seconds && last_written(object->decode()) < limit;
    (old ? expired : kept).push_back(object);
  }
  if (kept.size() > most_) {
    std::ranges::sort(kept, {}, [](const watchcache::ObjectRef& object) { return object->place; });
    expired.insert(expired.end(), kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(most_));
  }
  for (const watchcache::ObjectRef& object : expired) {
    const apiserver::Answer<> deleted =
        co_await delete_object(writer_, ObjectId::of(kind, *object), object->uid,
                               apimachinery::Propagation::background, now);
    if (!deleted) {
      log::warning("expired objects not removed",
                   {{"kind", kind.kind}, {"error", deleted.error().message}});
      co_return;
    }
  }
}

}  // namespace fairlead::controllers
