#include "api/apiserver/node_index.h"

#include <algorithm>
#include <charconv>

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
    : attachments_(catalog.find(identity::kFairleadGroup, "v1alpha1", "networkattachments")),
      nodes_(catalog.find("", "v1", "nodes")),
      cache_(cache) {
  CHECK(attachments_);
  node_field_ = selectable_index(*attachments_, "spec.node");
  vni_field_ = selectable_index(*attachments_, "status.addressVNI");
  cache.on_reset([this] { rebuild(); });
  cache.observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    if (&kind == attachments_) attachment_changed(event.before().get(), event.after().get());
    if (&kind == nodes_) node_changed(event.before().get(), event.after().get());
  });
}

void NodeIndex::attachment_changed(const watchcache::Object* before,
                                   const watchcache::Object* after) {
  const bool stays = before && after && before->fields[node_field_] == after->fields[node_field_] &&
                     before->fields[vni_field_] == after->fields[vni_field_];
  if (stays) return;
  count(after, +1);
  if (count(before, -1) && on_loss_) on_loss_(before->fields[node_field_]);
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
  seats_.clear();
  pins_.clear();
  for (const auto& [key, object] : cache_.of(*attachments_).objects()) count(object.get(), +1);
  if (!nodes_) return;
  for (const auto& [key, object] : cache_.of(*nodes_).objects())
    if (std::string pin = registered_pin(*object); !pin.empty())
      pins_.insert_or_assign(object->name, std::move(pin));
}

NodeIndex::Seat NodeIndex::seat_of(const watchcache::Object& attachment) const {
  Seat seat{.node = attachment.fields[node_field_], .vni = 0};
  const std::string& text = attachment.fields[vni_field_];
  std::from_chars(text.data(), text.data() + text.size(), seat.vni);
  return seat;
}

bool NodeIndex::count(const watchcache::Object* attachment, int by) {
  if (!attachment) return false;
  Seat seat = seat_of(*attachment);
  if (seat.vni == 0) return false;
  const auto node = seats_.try_emplace(std::move(seat.node)).first;
  std::size_t& count = node->second[seat.vni];
  count += static_cast<std::size_t>(by);
  const bool last = count == 0;
  if (last) node->second.erase(seat.vni);
  if (node->second.empty()) seats_.erase(node);
  return last;
}

NodeIndex::Placement NodeIndex::placement(std::string_view node, std::string_view namespace_name,
                                          std::string_view attachment) const {
  const auto object = cache_.of(*attachments_)
                          .find(watchcache::object_key(*attachments_, namespace_name, attachment));
  if (!object) return Placement::absent;
  return object->fields[node_field_] == node ? Placement::here : Placement::elsewhere;
}

bool NodeIndex::relevant(std::string_view node, std::uint32_t vni) const {
  const auto at = seats_.find(node);
  return at != seats_.end() && at->second.contains(vni);
}

std::uint32_t NodeIndex::network_of(std::string_view namespace_name,
                                    std::string_view attachment) const {
  const auto object = cache_.of(*attachments_)
                          .find(watchcache::object_key(*attachments_, namespace_name, attachment));
  return object ? seat_of(*object).vni : 0;
}

std::string_view NodeIndex::key_pin_of(std::string_view node) const {
  const auto pin = pins_.find(node);
  return pin == pins_.end() ? std::string_view() : std::string_view(pin->second);
}

}  // namespace fairlead::apiserver
