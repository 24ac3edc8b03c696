#include "features/networks/ipam/readiness_keeper.h"

#include <algorithm>
#include <limits>

#include "api/control/loop.h"
#include "features/networks/ipam/readiness_interlock.h"

namespace fairlead::ipam {

using apiserver::Answer;
using apiserver::Change;
using watchcache::Object;

namespace {

constexpr std::size_t kBatch = 40;
// A pass goes over all attachments: the more nodes in one, the better.
constexpr std::size_t kNodes = std::numeric_limits<std::size_t>::max();
constexpr runtime::BackOff::Limits kRetries{.first = 1s, .longest = 16s};

std::size_t place_of(const resource::Kind& kind, std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(kind.selectable, path) -
                                  kind.selectable.begin());
}

}  // namespace

ReadinessKeeper::ReadinessKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                                 apiserver::ObjectWriter& writer,
                                 std::optional<control::WorkQueueMetrics> queue_metrics)
    : runtime_(runtime),
      networks_(networks),
      writer_(writer),
      node_field_(place_of(networks.attachments(), "spec.node")),
      vni_field_(place_of(networks.attachments(), "status.addressVNI")),
      queue_(runtime, queue_metrics, kRetries) {
  networks.cache().on_reset([this] { rebuild(); });
  networks.cache().observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    if (&kind == &networks_.reports()) notice_report(event);
    if (&kind == &networks_.attachments() && event.after()) notice_attachment(*event.after());
  });
}

void ReadinessKeeper::notice_report(const watchcache::Event& event) {
  const Object *before = event.before().get(), *after = event.after().get();
  const std::size_t field = networks_.silent_since_field();
  const bool same = before && after && before->fields[field] == after->fields[field];
  if (!same) queue_.add((after ? after : before)->name);
}

// One without an address says nothing of its node.
void ReadinessKeeper::notice_attachment(const Object& attachment) {
  if (attachment.fields[vni_field_].empty()) return;
  const std::string& node = attachment.fields[node_field_];
  if (told_state(attachment.json) != agent_word(networks_, node).state) queue_.add(node);
}

void ReadinessKeeper::rebuild() {
  for (const auto& [key, object] : networks_.cache().of(networks_.attachments()).objects()) {
    notice_attachment(*object);
    if (!tells_readiness(object->json)) queue_.add(object->fields[node_field_]);
  }
}

std::vector<std::string> ReadinessKeeper::attachments_on(const std::set<std::string>& nodes) const {
  std::vector<std::string> keys;
  for (const auto& [key, object] : networks_.cache().of(networks_.attachments()).objects())
    if (nodes.contains(object->fields[node_field_])) keys.emplace_back(key);
  return keys;
}

Task<void> ReadinessKeeper::run() {
  const auto work = [this](control::Batch<std::string>& nodes) { return update_all(nodes); };
  co_await control::run_batches(runtime_, queue_, {.name = "readiness", .batch = kNodes}, work);
}

Task<void> ReadinessKeeper::update_all(control::Batch<std::string>& nodes) {
  const Result<> outcome = co_await update({nodes.keys().begin(), nodes.keys().end()});
  nodes.finish_all(outcome);
}

// What changes meanwhile is noticed, and makes for another pass.
Task<Result<>> ReadinessKeeper::update(std::set<std::string> nodes) {
  FL_CO_CHECKED(co_await networks_.cache().fresh());
  const std::vector<std::string> keys = attachments_on(nodes);
  for (std::size_t begin = 0; begin < keys.size(); begin += kBatch) {
    std::vector<apiserver::WriteItem> items;
    for (std::size_t i = begin; i < std::min(begin + kBatch, keys.size()); ++i)
      items.push_back(item_for(keys[i]));
    FL_CO_CHECKED(co_await writer_.write_all(std::move(items)));
  }
  co_return Result<>{};
}

apiserver::WriteItem ReadinessKeeper::item_for(const std::string& key) const {
  const std::size_t slash = key.find('/');
  apiserver::WriteItem item{.kind = &networks_.attachments(),
                            .namespace_name = key.substr(0, slash),
                            .name = key.substr(slash + 1)};
  item.plan = [this](const Json* live) -> Answer<Change> {
    if (!live) return Change{.kind = Change::Kind::none};
    Change change{.kind = Change::Kind::put, .object = wire::copy_beside(*live)};
    const AgentWord agent = agent_word(networks_, wire::find_string(*live, "spec.node"));
    if (!resource::set_condition(change.object, ready_condition(*live, agent), runtime_.wall_now()))
      return Change{.kind = Change::Kind::none};
    return change;
  };
  return item;
}

}  // namespace fairlead::ipam
