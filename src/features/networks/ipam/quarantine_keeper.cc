#include "features/networks/ipam/quarantine_keeper.h"

#include <algorithm>
#include <charconv>

#include "api/control/loop.h"
#include "features/networks/ipam/interlock_support.h"
#include "features/networks/kinds/node_report.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::ipam {

using apiserver::Answer;
using apiserver::Change;

namespace {

constexpr int kWorkers = 8;  // their writes share commits
constexpr Duration kShorteningInterval = 20s;

template <class Number>
Number number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

QuarantineKeeper::QuarantineKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                                   apiserver::ObjectWriter& writer,
                                   std::optional<control::WorkQueueMetrics> queue_metrics)
    : runtime_(runtime), networks_(networks), writer_(writer), queue_(runtime, queue_metrics) {
  networks.cache().on_reset([this] { rebuild(); });
  networks.cache().observe([this](const resource::Kind& kind, const watchcache::Event& event) {
    if (&kind == &networks_.reports()) notice_report(event);
    if (&kind != &networks_.locks()) return;
    if (!event.after()) latecomers_.erase(event.before()->key());
    if (!event.after() || !event.after()->deleting) return;
    const LockFacts* lock = networks_.ledger().lock(event.after()->key());
    if (!lock) return;
    note_latecomers(*lock);
    consider(*lock);
  });
}

QuarantineKeeper::Applied QuarantineKeeper::applied_by(const watchcache::Object& report) {
  const auto place = [](std::string_view version) {
    return store::Place::from_number(number<std::uint64_t>(version));
  };
  Applied applied;
  const Json json = report.decode();
  const auto decoded = resource::decode<networks::NodeReport>(json);
  if (!decoded) return applied;
  for (const auto& [vni, version] : decoded->applied)
    applied.networks[number<Vni>(vni)] = place(version);
  applied.own = place(decoded->applied_own);
  applied.elsewhere = place(decoded->applied_elsewhere);
  return applied;
}

void QuarantineKeeper::notice_report(const watchcache::Event& event) {
  const std::string& name = (event.after() ? event.after() : event.before())->name;
  const auto known = applied_.find(name);
  std::optional<Applied> before;
  if (known != applied_.end()) before = known->second;
  std::optional<Applied> after;
  if (event.after()) {
    after = applied_by(*event.after());
    if (before == after) return;
    applied_[name] = *after;
  } else {
    applied_.erase(name);
  }
  // Reports are frequent, and each is about few of the networks.
  const bool of_own = !before || !after || before->own != after->own;
  for (const Vni vni : networks_.ledger().networks_with_released()) {
    if (!of_own && before->at(vni) == after->at(vni)) continue;
    for (const LockFacts* lock : networks_.ledger().released(vni))
      if (concerns(*lock, name)) consider(*lock);
  }
}

void QuarantineKeeper::rebuild() {
  applied_.clear();
  for (const auto& [name, report] : networks_.cache().of(networks_.reports()).objects())
    applied_[name] = applied_by(*report);
  latecomers_.clear();
  for (const LockFacts* lock : networks_.ledger().released(0)) {
    note_latecomers(*lock);
    consider(*lock);
  }
}

// Everything before the release is known when it is seen: nobody else can turn up later.
void QuarantineKeeper::note_latecomers(const LockFacts& lock) {
  if (lock.decided == 0) latecomers_.erase(lock.key());
  if (lock.decided == 0 || latecomers_.contains(lock.key())) return;
  std::set<std::string> nodes =
      networks_.records().came_between(lock.vni, lock.decided, lock.released);
  for (const std::string& node : lock.awaits) nodes.erase(node);
  if (!nodes.empty()) latecomers_.emplace(lock.key(), std::move(nodes));
}

const std::set<std::string>& QuarantineKeeper::latecomers(const LockFacts& lock) const {
  static const std::set<std::string> kNone;
  if (latecomers_.empty()) return kNone;
  const auto found = latecomers_.find(lock.key());
  return found == latecomers_.end() ? kNone : found->second;
}

bool QuarantineKeeper::concerns(const LockFacts& lock, const std::string& node) const {
  return std::ranges::find(lock.awaits, node) != lock.awaits.end() ||
         latecomers(lock).contains(node);
}

bool QuarantineKeeper::dropped(const std::string& node, const LockFacts& lock) const {
  const auto reports = applied_.find(node);
  if (reports == applied_.end()) return true;  // the node is gone
  const Applied& applied = reports->second;
  if (node == lock.node) return applied.own >= lock.released_at;
  if (applied.at(lock.vni).first >= lock.released_at) return true;
  if (networks_.index().has_attachments(node, lock.vni)) return false;
  return networks_.records().last_loss(node, lock.vni) <= applied.own;
}

std::set<std::string> QuarantineKeeper::still_awaited(const LockFacts& lock) const {
  std::set<std::string> awaited = latecomers(lock);
  awaited.insert(lock.awaits.begin(), lock.awaits.end());
  std::erase_if(awaited, [&](const std::string& node) { return dropped(node, lock); });
  return awaited;
}

bool QuarantineKeeper::over(const LockFacts& lock) const {
  // Without a list it was not released: somebody deleted the lock of an attachment that lives.
  const auto has_dropped = [&](const std::string& node) { return dropped(node, lock); };
  return lock.deleting && !lock.awaits.empty() && std::ranges::all_of(lock.awaits, has_dropped) &&
         std::ranges::all_of(latecomers(lock), has_dropped);
}

void QuarantineKeeper::consider(const LockFacts& lock) {
  if (over(lock)) queue_.add(lock.key());
}

Task<void> QuarantineKeeper::run() {
  runtime::Scope scope(runtime_);
  const auto work = [this](std::string lock_key) { return let_go(std::move(lock_key)); };
  scope.spawn(
      control::run_workers(runtime_, queue_, {.name = "quarantine", .workers = kWorkers}, work));
  const auto shorten = [this] { return shorten_lists(); };
  scope.spawn(control::every(runtime_, kShorteningInterval, shorten));
  co_await scope.join();
}

std::vector<std::string> QuarantineKeeper::reporting_nodes() const {
  std::vector<std::string> nodes;
  for (const auto& [node, applied] : applied_) nodes.push_back(node);
  return nodes;
}

Task<Result<>> QuarantineKeeper::forget_node(std::string node) {
  apiserver::WriteItem item{.kind = &networks_.reports(), .namespace_name = {}, .name = node};
  item.plan = [](const Json* live) -> Answer<Change> {
    return Change{.kind = live ? Change::Kind::erase : Change::Kind::none};
  };
  FL_CO_TRY(const apiserver::Written written, co_await writer_.write(std::move(item)));
  if (written.change == Change::Kind::erase)
    log::info("node is gone: its report is deleted, no released address waits for it",
              {{"node", node}});
  co_return Result<>{};
}

Task<Result<>> QuarantineKeeper::let_go(std::string lock_key) {
  const std::size_t slash = lock_key.find('/');
  apiserver::WriteItem item{.kind = &networks_.locks(),
                            .namespace_name = lock_key.substr(0, slash),
                            .name = lock_key.substr(slash + 1)};
  item.plan = [this, lock_key](const Json* live) -> Answer<Change> {
    const LockFacts* lock = networks_.ledger().lock(lock_key);
    if (!live || !lock || !over(*lock)) return Change{.kind = Change::Kind::none};
    return Change{.kind = Change::Kind::erase};
  };
  FL_CO_CHECKED(co_await writer_.write(std::move(item)));
  co_return Result<>{};
}

bool QuarantineKeeper::waits_for_fewer(const LockFacts& lock) const {
  return still_awaited(lock).size() < lock.awaits.size() + latecomers(lock).size();
}

// Well within the time that nodes keep a report they no longer need.
Task<void> QuarantineKeeper::shorten_lists() {
  std::vector<std::string> keys;
  for (const LockFacts* lock : networks_.ledger().released(0))
    if (!lock->awaits.empty() && waits_for_fewer(*lock)) keys.push_back(lock->key());
  for (const std::string& key : keys) {
    const Result<> written = co_await wait_for_fewer(key);
    if (!written)
      log::warning("a released address could not be written again",
                   {{"lock", key}, {"error", written.error().to_string()}});
  }
}

Task<Result<>> QuarantineKeeper::wait_for_fewer(std::string lock_key) {
  const std::size_t slash = lock_key.find('/');
  apiserver::WriteItem item{.kind = &networks_.locks(),
                            .namespace_name = lock_key.substr(0, slash),
                            .name = lock_key.substr(slash + 1)};
  item.plan = [this, lock_key](const Json* live) -> Answer<Change> {
    const LockFacts* lock = networks_.ledger().lock(lock_key);
    if (!live || !lock || !lock->deleting) return Change{.kind = Change::Kind::none};
    const std::set<std::string> awaited = still_awaited(*lock);
    if (awaited.empty() || !waits_for_fewer(*lock)) return Change{.kind = Change::Kind::none};
    Change change{.kind = Change::Kind::put, .object = wire::copy_beside(*live)};
    JsonObject& annotations = wire::member_object(
        wire::member_object(change.object.get_object(), "metadata"), "annotations");
    annotations[kAwaitsAnnotation] = join_names(awaited);
    annotations[kReleasedAnnotation] = std::to_string(lock->released);
    annotations.erase(kDecidedAnnotation);  // who came late is in the list now
    return change;
  };
  FL_CO_CHECKED(co_await writer_.write(std::move(item)));
  co_return Result<>{};
}

}  // namespace fairlead::ipam
