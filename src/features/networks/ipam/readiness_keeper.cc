#include "features/networks/ipam/readiness_keeper.h"

#include <algorithm>
#include <utility>

#include "features/networks/ipam/readiness_interlock.h"
#include "foundation/base/log.h"

namespace fairlead::ipam {

using apimachinery::refuse;
using apiserver::Answer;
using apiserver::Change;
using watchcache::Object;

namespace {

constexpr std::size_t kBatch = 40;
constexpr Duration kPause = 1s;  // after a failure

std::size_t place_of(const resource::Kind& kind, std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(kind.selectable, path) -
                                  kind.selectable.begin());
}

}  // namespace

ReadinessKeeper::ReadinessKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                                 apiserver::ObjectWriter& writer)
    : runtime_(runtime),
      networks_(networks),
      writer_(writer),
      node_field_(place_of(networks.attachments(), "spec.node")),
      vni_field_(place_of(networks.attachments(), "status.addressVNI")) {
  networks.cache().on_reset([this] { rebuild(); });
  networks.cache().observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    if (&kind == &networks_.reports()) notice_report(event);
    if (&kind == &networks_.attachments() && event.after()) notice_attachment(*event.after());
  });
}

void ReadinessKeeper::look_at(const std::string& node) {
  if (nodes_.insert(node).second) changed_.notify();
}

void ReadinessKeeper::notice_report(const watchcache::Event& event) {
  const Object *before = event.before().get(), *after = event.after().get();
  const std::size_t field = networks_.silent_since_field();
  const bool same = before && after && before->fields[field] == after->fields[field];
  if (!same) look_at((after ? after : before)->name);
}

// One without an address says nothing of its node.
void ReadinessKeeper::notice_attachment(const Object& attachment) {
  if (attachment.fields[vni_field_].empty()) return;
  const std::string& node = attachment.fields[node_field_];
  if (told_state(attachment.json) != agent_word(networks_, node).state) look_at(node);
}

void ReadinessKeeper::rebuild() {
  nodes_.clear();
  for (const auto& [key, object] : networks_.cache().of(networks_.attachments()).objects()) {
    notice_attachment(*object);
    if (!tells_readiness(object->json)) look_at(object->fields[node_field_]);
  }
}

std::vector<std::string> ReadinessKeeper::attachments_on(const std::set<std::string>& nodes) const {
  std::vector<std::string> keys;
  for (const auto& [key, object] : networks_.cache().of(networks_.attachments()).objects())
    if (nodes.contains(object->fields[node_field_])) keys.emplace_back(key);
  return keys;
}

Task<void> ReadinessKeeper::run() {
  for (;;) {
    if (nodes_.empty()) {
      if (!co_await changed_.wait()) co_return;
      continue;
    }
    const bool done = co_await sweep();
    if (!done && !co_await runtime::sleep(runtime_, kPause)) co_return;
  }
}

// What changes meanwhile is noticed, and makes for another one.
Task<bool> ReadinessKeeper::sweep() {
  const Result<> fresh = co_await networks_.cache().fresh();
  if (!fresh) co_return false;
  const std::set<std::string> nodes = std::exchange(nodes_, {});
  const std::vector<std::string> keys = attachments_on(nodes);
  for (std::size_t begin = 0; begin < keys.size(); begin += kBatch) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kBatch, keys.size() - begin));
    const Answer<> written = co_await mend({first, first + count});
    if (written) continue;
    log::warning("conditions of attachments will be written later",
                 {{"error", written.error().message}});
    nodes_.insert(nodes.begin(), nodes.end());
    co_return false;
  }
  co_return true;
}

Task<Answer<>> ReadinessKeeper::mend(std::vector<std::string> keys) {
  std::vector<apiserver::WriteItem> items;
  for (const std::string& key : keys) items.push_back(item_for(key));
  const Answer<std::vector<apiserver::Written>> written =
      co_await writer_.write_all(std::move(items), false);
  if (!written) co_return refuse(written.error());
  co_return Answer<>{};
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
