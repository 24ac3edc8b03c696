#include "features/networks/ipam/interlock_support.h"

#include <algorithm>

#include "api/store/transaction.h"
#include "foundation/base/time_text.h"

namespace fairlead::ipam {

std::string join_names(const std::set<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ",") + name;
  return joined;
}

Json released_lock(Json lock, const LockFacts& facts, const Json& attachment,
                   const NodesToAwait& nodes, resource::Moment now) {
  JsonObject& metadata = wire::member_object(lock.get_object(), "metadata");
  if (!metadata.contains("deletionTimestamp")) {
    metadata["deletionTimestamp"] = rfc3339(now);
    metadata["deletionGracePeriodSeconds"] = 0;
  }
  metadata["finalizers"] = JsonArray{Json(kQuarantineFinalizer)};
  JsonObject& annotations = wire::member_object(metadata, "annotations");
  const std::string_view node = wire::find_string(attachment, "spec.node");
  annotations[kAwaitsAnnotation] = nodes.reporting.empty() ? node : join_names(nodes.reporting);
  annotations[kNodeAnnotation] = node;
  if (nodes.decided != 0) annotations[kDecidedAnnotation] = std::to_string(nodes.decided);
  const std::string_view current =
      wire::find_string(attachment, facts.ip.is_v4() ? "status.ipv4" : "status.ipv6");
  if (facts.idle && current.empty())
    annotations[kReleasedAnnotation] = std::to_string(facts.place.revision);
  return lock;
}

NodesToAwait nodes_to_await(const NetworkState& networks, Vni vni, const Json& attachment) {
  NodesToAwait nodes;
  std::set<std::string> concerned;
  if (!write_time(attachment, "status.impl").empty()) {
    concerned = networks.records().carriers(vni);
    nodes.decided = networks.cache().revision();
  }
  concerned.emplace(wire::find_string(attachment, "spec.node"));
  const watchcache::KindCache& reports = networks.cache().of(networks.reports());
  for (const std::string& name : concerned)
    (reports.find(name) ? nodes.reporting : nodes.silent).insert(name);
  return nodes;
}

void compare_silent(const NetworkState& networks, const std::set<std::string>& silent,
                    store::Transaction& transaction) {
  for (const std::string& name : silent) {
    std::string key = watchcache::store_key(networks.reports(), "", name);
    if (!store::compares(transaction, key)) transaction.compares.push_back({std::move(key), 0});
  }
}

}  // namespace fairlead::ipam
