#include "api/client/remote_events.h"

namespace fairlead::client {
namespace {

constexpr std::size_t kMostCounts = 1'000;  // then they are read again
const ResourceName kEvents{"", "v1", "events", true};

std::int64_t count_of(const Json& event) {
  const Json* count = wire::find(event, "count");
  return count && count->is_int64() ? count->get_int64() : 0;
}

}  // namespace

Task<Result<Json>> RemoteEvents::make(control::EventWrite event) {
  const std::string home = event.namespace_name();
  co_return co_await client_.create(kEvents, home, std::move(event.event));
}

Task<Result<Json>> RemoteEvents::count_up(control::EventWrite event, std::int64_t before) {
  Json patch = JsonObject{{"count", before + event.times},
                          {"lastTimestamp", wire::find_string(event.event, "lastTimestamp")},
                          {"message", wire::find_string(event.event, "message")}};
  co_return co_await client_.patch(kEvents, event.namespace_name(), event.name(), PatchKind::merge,
                                   std::move(patch));
}

Task<Result<>> RemoteEvents::write(control::EventWrite event) {
  const std::string key = event.namespace_name() + "/" + event.name();
  const auto known = counts_.find(key);
  Result<Json> written = fail(Code::not_found, "not written yet");
  if (known != counts_.end()) {
    if (event.once) co_return Result<>{};
    written = co_await count_up(event, known->second);
    if (!written && written.error().code == Code::not_found) counts_.erase(key);  // expired
  }
  if (!written && written.error().code == Code::not_found) written = co_await make(event);
  if (!written && written.error().code == Code::already_exists) {
    // Its count is in the answer to a patch that changes no count.
    Json patch = JsonObject{{"lastTimestamp", wire::find_string(event.event, "lastTimestamp")}};
    written = co_await client_.patch(kEvents, event.namespace_name(), event.name(),
                                     PatchKind::merge, std::move(patch));
    if (written && !event.once) written = co_await count_up(event, count_of(*written));
  }
  if (!written) co_return fail(written.error());
  if (counts_.size() >= kMostCounts) counts_.clear();
  counts_[key] = count_of(*written);
  co_return Result<>{};
}

}  // namespace fairlead::client
