#include "features/networks/ipam/assignment_writes.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "features/networks/ipam/assignment_objects.h"
#include "features/networks/ipam/interlock_support.h"

namespace fairlead::ipam {

using apimachinery::refuse;
using apiserver::Answer;
using apiserver::Change;
using apiserver::WriteItem;
using watchcache::ObjectRef;

namespace {

using SharedAssignment = std::shared_ptr<Assignment>;

// A rival may have given it addresses meanwhile, which must not be taken from it.
bool is_as_decided_on(const Json& live, const Assignment& assignment) {
  const Json* vni = wire::find(live, "status.addressVNI");
  return wire::find_string(live, "metadata.uid") == assignment.uid &&
         wire::find_string(live, "status.ipv4") == assignment.before.ipv4 &&
         wire::find_string(live, "status.ipv6") == assignment.before.ipv6 &&
         (vni && vni->is_number() ? vni->to_number<Vni>() : 0) == assignment.before.vni;
}

WriteItem item_of(const resource::Kind& kind, const std::string& key) {
  const std::size_t slash = key.find('/');
  return {.kind = &kind, .namespace_name = key.substr(0, slash), .name = key.substr(slash + 1)};
}

WriteItem new_lock_item(const NetworkState& networks, runtime::Runtime& runtime,
                        const SharedAssignment& assignment, bool v4) {
  WriteItem item{.kind = &networks.locks(),
                 .namespace_name = assignment->before.namespace_name,
                 .create = true};
  item.plan = [&networks, &runtime, assignment, v4](const Json*) -> Answer<Change> {
    return Change{.kind = Change::Kind::put,
                  .object = new_lock(networks, runtime, *assignment, v4),
                  .creates = true};
  };
  return item;
}

// Writes the labels of a lock that stays.
WriteItem labels_item(const NetworkState& networks, const std::string& lock_key,
                      std::function<void(JsonObject& labels)> write) {
  WriteItem item = item_of(networks.locks(), lock_key);
  item.plan = [write = std::move(write)](const Json* live) -> Answer<Change> {
    if (!live || !wire::find_string(*live, "metadata.deletionTimestamp").empty())
      return Change{.kind = Change::Kind::none};
    Change change{.kind = Change::Kind::put, .object = wire::copy_beside(*live)};
    write(
        wire::member_object(wire::member_object(change.object.get_object(), "metadata"), "labels"));
    return change;
  };
  return item;
}

WriteItem idle_item(const NetworkState& networks, runtime::Runtime& runtime,
                    const std::string& lock_key) {
  const std::string since =
      std::to_string(runtime.wall_now().time_since_epoch() / std::chrono::microseconds(1));
  return labels_item(networks, lock_key,
                     [since](JsonObject& labels) { labels[kIdleLabel] = since; });
}

WriteItem regain_item(const NetworkState& networks, const std::string& lock_key) {
  return labels_item(networks, lock_key, [](JsonObject& labels) {
    labels.erase(kIdleLabel);
    labels[kRegainedLabel] = "true";
  });
}

WriteItem release_item(const NetworkState& networks, runtime::Runtime& runtime,
                       const SharedAssignment& assignment, const std::string& lock_key) {
  WriteItem item = item_of(networks.locks(), lock_key);
  item.plan = [&networks, &runtime, assignment, lock_key](const Json* live) -> Answer<Change> {
    const LockFacts* lock = networks.ledger().lock(lock_key);
    const ObjectRef owner =
        networks.cache().of(networks.attachments()).find(assignment->attachment);
    if (!live || !lock || !owner || lock->owner != owner->uid || !lock->awaits.empty())
      return Change{.kind = Change::Kind::none};
    const Json attachment = owner->decode();
    const NodesToAwait nodes = nodes_to_await(networks, lock->vni, attachment);
    if (nodes.nobody()) return Change{.kind = Change::Kind::erase};
    return Change{.kind = Change::Kind::put,
                  .object = released_lock(wire::copy_beside(*live), *lock, attachment, nodes,
                                          runtime.wall_now())};
  };
  return item;
}

store::Revision revision_of_subnet(const NetworkState& networks, const std::string& key) {
  const ObjectRef subnet = networks.cache().of(networks.subnets()).find(key);
  return subnet ? subnet->place.revision : 0;
}

WriteItem status_item(const NetworkState& networks, runtime::Runtime& runtime,
                      const SharedAssignment& assignment) {
  WriteItem item = item_of(networks.attachments(), assignment->attachment);
  // Only while the subnet is the one that was decided on.
  const store::Revision decided_on = revision_of_subnet(networks, assignment->subnet);
  const WriteItem subnet = item_of(networks.subnets(), assignment->subnet);
  item.conditions.push_back(
      {watchcache::store_key(networks.subnets(), subnet.namespace_name, subnet.name), decided_on});
  apiserver::WriteContext context{.kind = item.kind,
                                  .namespace_name = item.namespace_name,
                                  .name = item.name,
                                  .subresource = "status",
                                  .tracked = false,
                                  .now = runtime.wall_now()};
  item.plan = [&networks, assignment, decided_on,
               context = std::move(context)](const Json* live) -> Answer<Change> {
    const bool current = live && is_as_decided_on(*live, *assignment) &&
                         revision_of_subnet(networks, assignment->subnet) == decided_on;
    if (!current)
      return refuse(apimachinery::conflict(apimachinery::group_resource(*context.kind),
                                           context.name, "decided on what has changed since"));
    assignment->spec_written = write_time(*live, "spec");
    const Json* contention = wire::find(*live, "status.addressContention");
    assignment->contended = contention && contention->is_bool() && contention->get_bool();
    Json object = wire::copy_beside(*live);
    fill_status(object, *assignment);
    return apiserver::plan_update(context, live, std::move(object));
  };
  return item;
}

}  // namespace

std::vector<WriteItem> writes_for(const NetworkState& networks, runtime::Runtime& runtime,
                                  const SharedAssignment& assignment) {
  std::vector<WriteItem> items;
  for (const bool v4 : {true, false}) {
    const auto& part = v4 ? assignment->ipv4 : assignment->ipv6;
    if (part && part->lock_uid.empty())
      items.push_back(new_lock_item(networks, runtime, assignment, v4));
  }
  items.push_back(status_item(networks, runtime, assignment));
  for (const std::string& key : assignment->idle_locks) items.push_back(regain_item(networks, key));
  const auto& unused = assignment->unused_locks;
  for (const std::string& key : unused)
    items.push_back(release_item(networks, runtime, assignment, key));
  const bool loses_address = assignment->vni == 0 && assignment->before.vni != 0;
  if (!loses_address) return items;
  for (const std::string& key : networks.ledger().locks_of(assignment->uid))
    if (std::ranges::find(unused, key) == unused.end())
      items.push_back(idle_item(networks, runtime, key));
  return items;
}

}  // namespace fairlead::ipam
