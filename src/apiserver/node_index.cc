#include "apiserver/node_index.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "identity/join.h"
#include "wire/json.h"

namespace fairlead::apiserver {
namespace {

std::size_t selectable_index(const resource::Kind& kind, std::string_view path) {
  const auto at = std::ranges::find(kind.selectable, path);
  CHECK(at != kind.selectable.end());
  return static_cast<std::size_t>(at - kind.selectable.begin());
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
    const watchcache::Object *before = event.before().get(), *after = event.after().get();
    if (&kind == nodes_) take_in_node((after ? after : before)->name, after);
    if (&kind != attachments_) return;
    const bool stays = before && after &&
                       before->fields[node_field_] == after->fields[node_field_] &&
                       before->fields[vni_field_] == after->fields[vni_field_];
    if (stays) return;
    count(before, -1);
    count(after, +1);
  });
}

void NodeIndex::rebuild() {
  seats_.clear();
  for (const auto& [key, object] : cache_.of(*attachments_).objects()) count(object.get(), +1);
  pins_.clear();
  if (nodes_)
    for (const auto& [name, node] : cache_.of(*nodes_).objects())
      take_in_node(node->name, node.get());
}

void NodeIndex::take_in_node(const std::string& name, const watchcache::Object* node) {
  std::string pin;
  if (node) {
    const Json value = node->decode();
    const Json* annotations = wire::find(value, "metadata.annotations");
    const JsonObject* members = annotations ? annotations->if_object() : nullptr;
    const Json* known = members ? members->if_contains(identity::kRegistrationAnnotation) : nullptr;
    if (known && known->is_string()) pin = known->get_string();
  }
  if (pin.empty()) {
    if (const auto at = pins_.find(name); at != pins_.end()) pins_.erase(at);
  } else {
    pins_.insert_or_assign(name, std::move(pin));
  }
}

NodeIndex::Seat NodeIndex::seat_of(const watchcache::Object& attachment) const {
  Seat seat{.node = attachment.fields[node_field_], .vni = 0};
  const std::string& text = attachment.fields[vni_field_];
  std::from_chars(text.data(), text.data() + text.size(), seat.vni);
  return seat;
}

void NodeIndex::count(const watchcache::Object* attachment, int by) {
  if (!attachment) return;
  Seat seat = seat_of(*attachment);
  if (seat.vni == 0) return;
  const auto node = seats_.try_emplace(std::move(seat.node)).first;
  std::size_t& count = node->second[seat.vni];
  count += static_cast<std::size_t>(by);
  if (count == 0) node->second.erase(seat.vni);
  if (node->second.empty()) seats_.erase(node);
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

std::string NodeIndex::key_pin_of(std::string_view node) const {
  const auto at = pins_.find(node);
  return at == pins_.end() ? std::string() : at->second;
}

}  // namespace fairlead::apiserver
