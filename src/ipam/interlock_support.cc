#include "ipam/interlock_support.h"

#include <algorithm>

#include "base/time_text.h"

namespace fairlead::ipam {

bool operates_on(const store::Transaction& transaction, std::string_view key) {
  return std::ranges::any_of(transaction.operations,
                             [key](const store::Operation& one) { return one.key == key; });
}

Json released_lock(Json lock, const std::set<std::string>& nodes, resource::Moment now) {
  JsonObject& metadata = wire::member_object(lock.get_object(), "metadata");
  if (!metadata.contains("deletionTimestamp")) {
    metadata["deletionTimestamp"] = rfc3339(now);
    metadata["deletionGracePeriodSeconds"] = 0;
  }
  metadata["finalizers"] = JsonArray{Json(kQuarantineFinalizer)};
  std::string awaits;
  for (const std::string& node : nodes) awaits += (awaits.empty() ? "" : ",") + node;
  wire::member_object(metadata, "annotations")[kAwaitsAnnotation] = awaits;
  return lock;
}

std::set<std::string> nodes_to_await(const NetworkIndex& index, const resource::Kind* nodes,
                                     Vni vni, const Json& attachment) {
  std::set<std::string> awaited;
  if (!nodes) return awaited;
  if (!wire::find_string(attachment, "status.hostIP").empty()) awaited = index.carriers(vni);
  awaited.emplace(wire::find_string(attachment, "spec.node"));
  const watchcache::KindCache& existing = index.cache().of(*nodes);
  std::erase_if(awaited, [&](const std::string& name) { return !existing.find(name); });
  return awaited;
}

}  // namespace fairlead::ipam
