#include "api/apiserver/node_index.h"

#include <algorithm>

#include "api/identity/join.h"
#include "foundation/base/check.h"
#include "foundation/wire/json.h"

namespace fairlead::apiserver {
namespace {

std::size_t selectable_index(const resource::Kind& kind, std::string_view path) {
  const auto at = std::ranges::find(kind.selectable, path);
  CHECK(at != kind.selectable.end());
  return static_cast<std::size_t>(at - kind.selectable.begin());
}

// The key in a Node's registration; empty: it has none. One that is being deleted is no longer
// registered, whatever its deletion waits for.
std::string registered_pin(const watchcache::Object& node) {
  const Json value = node.decode();
  if (!wire::find_string(value, "metadata.deletionTimestamp").empty()) return {};
  const Json* annotations = wire::find(value, "metadata.annotations");
  if (!annotations || !annotations->is_object()) return {};
  const Json* pin = annotations->get_object().if_contains(identity::kRegistrationAnnotation);
  return pin && pin->is_string() ? std::string(pin->get_string()) : std::string();
}

}  // namespace

NodeIndex::NodeIndex(const resource::Catalog& catalog, watchcache::WatchCache& cache)
    : nodes_(catalog.find("", "v1", "nodes")), cache_(cache) {
  for (const resource::Kind* kind : catalog.stored_kinds()) {
    const resource::NodeAccess& access = kind->node;
    if (access.own != resource::NodeAccess::Own::placed) continue;
    std::optional<std::size_t> shared;
    if (!access.shared_field.empty()) shared = selectable_index(*kind, access.shared_field);
    placed_.push_back({.kind = kind,
                       .node_field = selectable_index(*kind, access.node_field),
                       .shared_field = shared,
                       .values = {}});
  }
  cache.on_reset([this] { rebuild(); });
  cache.observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    for (Placed& placed : placed_)
      if (&kind == placed.kind) object_changed(placed, event.before().get(), event.after().get());
    if (&kind == nodes_) node_changed(event.before().get(), event.after().get());
  });
}

const NodeIndex::Placed& NodeIndex::placed(const resource::Kind& kind) const {
  const auto found = std::ranges::find(placed_, &kind, &Placed::kind);
  CHECK(found != placed_.end());
  return *found;
}

void NodeIndex::object_changed(Placed& placed, const watchcache::Object* before,
                               const watchcache::Object* after) {
  if (!placed.shared_field) return;
  const std::size_t node = placed.node_field, shared = *placed.shared_field;
  const bool stays = before && after && before->fields[node] == after->fields[node] &&
                     before->fields[shared] == after->fields[shared];
  if (stays) return;
  placed.count(after, +1);
  if (placed.count(before, -1) && on_loss_) on_loss_(before->fields[node]);
}

void NodeIndex::node_changed(const watchcache::Object* before, const watchcache::Object* after) {
  const std::string& name = after ? after->name : before->name;
  std::string pin = after ? registered_pin(*after) : std::string();
  const auto known = pins_.find(name);
  if (known != pins_.end() ? known->second == pin : pin.empty()) return;
  if (pin.empty()) {
    pins_.erase(known);
  } else {
    pins_.insert_or_assign(name, std::move(pin));
  }
  if (on_loss_) on_loss_(name);
}

void NodeIndex::rebuild() {
  pins_.clear();
  for (Placed& placed : placed_) {
    placed.values.clear();
    for (const auto& [key, object] : cache_.of(*placed.kind).objects())
      placed.count(object.get(), +1);
  }
  if (!nodes_) return;
  for (const auto& [key, object] : cache_.of(*nodes_).objects())
    if (std::string pin = registered_pin(*object); !pin.empty())
      pins_.insert_or_assign(object->name, std::move(pin));
}

std::uint32_t NodeIndex::Placed::value_of(const watchcache::Object& object) const {
  return shared_field ? identity::shared_value(object.fields[*shared_field]) : 0;
}

bool NodeIndex::Placed::count(const watchcache::Object* object, int by) {
  const std::uint32_t value = object ? value_of(*object) : 0;
  if (value == 0) return false;
  const auto node = values.try_emplace(object->fields[node_field]).first;
  std::size_t& count = node->second[value];
  count += static_cast<std::size_t>(by);
  const bool last = count == 0;
  if (last) node->second.erase(value);
  if (node->second.empty()) values.erase(node);
  return last;
}

NodeIndex::Placement NodeIndex::placement(const resource::Kind& kind, std::string_view node,
                                          std::string_view namespace_name,
                                          std::string_view name) const {
  const auto object = cache_.of(kind).find(watchcache::object_key(kind, namespace_name, name));
  if (!object) return Placement::absent;
  return object->fields[placed(kind).node_field] == node ? Placement::here : Placement::elsewhere;
}

bool NodeIndex::shares(const resource::Kind& kind, std::string_view node,
                       std::uint32_t value) const {
  const Placed& of_kind = placed(kind);
  const auto at = of_kind.values.find(node);
  return at != of_kind.values.end() && at->second.contains(value);
}

std::uint32_t NodeIndex::shared_value_of(const resource::Kind& kind,
                                         std::string_view namespace_name,
                                         std::string_view name) const {
  const auto object = cache_.of(kind).find(watchcache::object_key(kind, namespace_name, name));
  return object ? placed(kind).value_of(*object) : 0;
}

std::string_view NodeIndex::key_pin_of(std::string_view node) const {
  const auto pin = pins_.find(node);
  return pin == pins_.end() ? std::string_view() : std::string_view(pin->second);
}

}  // namespace fairlead::apiserver
