#include "features/vip/node/api_vip_list.h"

#include <utility>

#include "features/vip/kinds/virtual_ip.h"
#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

constexpr int kMode = 0600;
constexpr std::size_t kMostBytes = 16 << 20;
constexpr runtime::BackOff::Limits kRetries{.first = 1s, .longest = 30s};

client::ReflectorOptions watched() {
  // Consistent from the first list on: a virtual IP that was deleted must not come back from the
  // cache of a server that is behind.
  return {.resource = {.group = std::string(resource::kFairleadGroup),
                       .version = std::string(resource::kFairleadVersion),
                       .plural = std::string(kVirtualIps),
                       .namespaced = false},
          .newest = true};
}

}  // namespace

ApiVipList::ApiVipList(runtime::Runtime& runtime, client::RestClient& client, std::string path,
                       Changed changed)
    : runtime_(runtime),
      path_(std::move(path)),
      changed_(std::move(changed)),
      reflector_(runtime, client, watched(), *this) {
  read();
}

void ApiVipList::read() {
  const Result<std::string> text = runtime_.files().read(path_);
  if (!text) return;
  const auto parsed = wire::parse_json(*text, {.max_bytes = kMostBytes});
  const JsonArray* all = parsed ? parsed->value.if_array() : nullptr;
  if (!all) {
    log::warning("VirtualIPs of the last run not read: the API is waited for", {{"file", path_}});
    return;
  }
  for (const Json& one : *all) (void)take(one);
  if (!vips_.empty())
    log::info("VirtualIPs of the last run, until the API says more", {{"count", vips_.size()}});
}

Task<void> ApiVipList::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(reflector_.run());
  scope.spawn(keep_on_disk());
  co_await scope.join();
}

std::vector<ApiVip> ApiVipList::all() const {
  std::vector<ApiVip> all;
  for (const auto& [name, vip] : vips_) all.push_back(vip);
  return all;
}

const ApiVip* ApiVipList::find(const std::string& name) const {
  const auto at = vips_.find(name);
  return at == vips_.end() ? nullptr : &at->second;
}

void ApiVipList::written(const Json& object) {
  const auto at = vips_.find(std::string(wire::find_string(object, "metadata.name")));
  if (at == vips_.end() || at->second.uid != wire::find_string(object, "metadata.uid")) return;
  if (const Json* status = wire::find(object, "status")) at->second.status = *status;
}

bool ApiVipList::take(const Json& object) {
  Result<ApiVip> vip = parse_api_vip(object);
  if (!vip) {
    log::warning("VirtualIP skipped", {{"error", vip.error().message}});
    return false;
  }
  ApiVip& known = vips_[vip->name];
  const bool news = known.uid != vip->uid || known.generation != vip->generation;
  known = std::move(*vip);
  return news;
}

void ApiVipList::replace(std::vector<Json> objects, const std::string&) {
  vips_.clear();
  for (const Json& object : objects) (void)take(object);
  tell(News::specs);
}

void ApiVipList::put(const Json& object) { tell(take(object) ? News::specs : News::statuses); }

void ApiVipList::erase(const Json& last_state) {
  if (vips_.erase(std::string(wire::find_string(last_state, "metadata.name"))) == 0) return;
  tell(News::specs);
}

void ApiVipList::tell(News news) {
  if (news == News::specs) {
    stale_ = true;
    to_save_.notify();
  }
  changed_(news);
}

std::string ApiVipList::text() const {
  JsonArray all;
  for (const auto& [name, vip] : vips_) all.push_back(to_json(vip));
  return wire::encode_json(all) + "\n";
}

// The latest counts: what changes while it is written is written next.
Task<void> ApiVipList::keep_on_disk() {
  runtime::BackOff retries(kRetries);
  for (;;) {
    while (!stale_)
      if (!co_await to_save_.wait()) co_return;
    stale_ = false;
    runtime::Files& files = runtime_.files();
    const auto save = [&files, path = path_, text = text()] {
      return files.write_atomically(path, text, kMode);
    };
    const Result<> saved = co_await runtime::blocking(runtime_, save);
    if (saved) {
      retries.reset();
      continue;
    }
    stale_ = true;
    log::warning("VirtualIPs not written to disk: a start without the API would not know them",
                 {{"error", saved.error().to_string()}});
    if (!co_await retries.pause(runtime_)) co_return;
  }
}

}  // namespace fairlead::vip
