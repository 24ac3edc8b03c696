#include "features/networks/node/carrier.h"

#include <algorithm>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::networks {
namespace {

constexpr runtime::BackOff::Limits kRetries{.first = 200ms, .longest = 30s};
constexpr std::size_t kBatch = 1000;
const std::string kAudit;

}  // namespace

Carrier::Carrier(runtime::Runtime& runtime, fabric::Fabric& fabric, const NetworkView& view,
                 NetworksMetrics& metrics, Duration audit_interval, Listener& listener)
    : runtime_(runtime),
      fabric_(fabric),
      view_(view),
      metrics_(metrics),
      audit_interval_(audit_interval),
      listener_(listener),
      work_(runtime, {}, kRetries) {}

void Carrier::allow_audits() {
  audits_allowed_ = true;
  work_.add(kAudit);
}

const fabric::Station* Carrier::target(const std::string& id) const {
  const auto at = target_.find(id);
  return at == target_.end() ? nullptr : &at->second;
}

std::vector<std::string> Carrier::carried_in(fabric::Vni vni) const {
  std::vector<std::string> ids;
  for (const auto& [id, network] : carried_)
    if (network == vni) ids.push_back(id);
  return ids;
}

Task<Result<>> Carrier::open() {
  runtime::BackOff back_off(kRetries);
  for (;;) {
    const Result<> opened = co_await fabric_.open();
    if (opened) break;
    if (opened.error().code == Code::cancelled) co_return opened;
    log::warning("fabric not ready",
                 {{"fabric", fabric_.name()}, {"error", opened.error().to_string()}});
    FL_CO_CHECKED(co_await back_off.pause(runtime_));
  }
  for (const fabric::Station& station : fabric_.local_stations())
    if (!station.id.empty()) carried_[station.id] = station.vni;
  co_return Result<>{};
}

Task<void> Carrier::run() {
  const Result<> opened = co_await open();
  if (!opened) co_return;
  runtime::Scope scope(runtime_);
  scope.spawn(audit_regularly());
  scope.spawn(audit_when_disturbed());
  for (;;) {
    const Result<std::string> first = co_await work_.take();
    if (!first) break;
    std::vector<std::string> keys{*first};
    while (keys.size() < kBatch) {
      const std::optional<std::string> next = work_.try_take();
      if (!next) break;
      keys.push_back(*next);
    }
    std::vector<std::string> ids;
    for (const std::string& key : keys)
      if (key != kAudit) ids.push_back(key);
    const bool audit_due = ids.size() < keys.size();
    if (!ids.empty()) co_await apply(std::move(ids));
    if (audit_due && audits_allowed_) co_await audit();
    for (const std::string& key : keys) work_.done(key);
    count();
  }
  co_await scope.close();
}

Task<void> Carrier::apply(std::vector<std::string> ids) {
  struct Before {
    std::uint64_t version;
    bool fresh;
  };
  std::vector<Before> before;
  for (const std::string& id : ids) {
    const auto desired = view_.desired().find(id);
    const fabric::Station* station = desired == view_.desired().end() ? nullptr : &desired->second;
    const bool fresh = station && carried_.insert_or_assign(id, station->vni).second;
    before.push_back({.version = view_.known_up_to(id), .fresh = fresh});
    set_target(id, station);
  }
  const Instant start = runtime_.now();
  const std::vector<fabric::Outcome> outcomes = co_await fabric_.apply(target_, ids);
  CHECK(outcomes.size() == ids.size());
  const bool all_ok = std::ranges::all_of(
      outcomes, [](const fabric::Outcome& outcome) { return outcome.result.has_value(); });
  metrics_.fabric_call("apply", all_ok, runtime_.now() - start);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const fabric::Outcome& outcome = outcomes[i];
    if (!outcome.result) {
      failed(outcome);
      continue;
    }
    metrics_.outcomes_ok.add();
    work_.forget(ids[i]);
    const fabric::Station* station = target(ids[i]);
    if (!station) carried_.erase(ids[i]);
    listener_.settled({.id = ids[i],
                       .station = station,
                       .result = {},
                       .made_interface = outcome.made_interface,
                       .first = before[i].fresh,
                       .version = before[i].version});
  }
}

void Carrier::failed(const fabric::Outcome& outcome) {
  if (outcome.result.error().code == Code::cancelled) return;
  metrics_.outcomes_failed.add();
  log::warning("fabric could not be brought up to date",
               {{"uid", outcome.id}, {"error", outcome.result.error().to_string()}});
  work_.retry(outcome.id);
  listener_.settled({.id = outcome.id,
                     .station = target(outcome.id),
                     .result = outcome.result,
                     .made_interface = outcome.made_interface});
}

Task<void> Carrier::audit() {
  listener_.auditing();
  const Instant start = runtime_.now();
  const Result<fabric::Audit> audit = co_await fabric_.audit(target_);
  if (!audit && audit.error().code == Code::cancelled) co_return;
  metrics_.fabric_call("audit", audit.has_value(), runtime_.now() - start);
  if (!audit) {
    log::warning("audit of the fabric failed", {{"error", audit.error().to_string()}});
    work_.retry(kAudit);
    co_return;
  }
  metrics_.audit_missing.add(audit->missing);
  metrics_.audit_unexpected.add(audit->unexpected);
  if (audit->missing + audit->unexpected > 0)
    log::info("fabric mended", {{"missing", audit->missing}, {"unexpected", audit->unexpected}});
  std::erase_if(carried_, [&](const auto& carried) {
    return !target_.contains(carried.first) &&
           std::ranges::none_of(audit->failed, [&](const fabric::Outcome& outcome) {
             return outcome.id == carried.first;
           });
  });
  for (const std::string& id : audit->made)
    listener_.settled({.id = id, .station = target(id), .result = {}, .made_interface = true});
  bool clean = true;
  for (const fabric::Outcome& outcome : audit->failed) {
    if (outcome.result) continue;
    clean = clean && target_.contains(outcome.id);
    failed(outcome);
  }
  // Until an audit was clean nothing is reported: what is left of before is looked at again soon.
  if (clean) {
    work_.forget(kAudit);
  } else {
    work_.retry(kAudit);
  }
  listener_.audited(clean);
}

Task<void> Carrier::audit_regularly() {
  for (;;) {
    const Result<> slept = co_await runtime::sleep(runtime_, audit_interval_);
    if (!slept) co_return;
    work_.add(kAudit);
  }
}

Task<void> Carrier::audit_when_disturbed() {
  for (;;) {
    const Result<> disturbed = co_await fabric_.disturbed().wait();
    if (!disturbed) co_return;
    log::info("fabric disturbed", {{"fabric", fabric_.name()}});
    work_.add(kAudit);
  }
}

void Carrier::set_target(const std::string& id, const fabric::Station* station) {
  if (!station) {
    const auto gone = target_.extract(id);
    if (gone && gone.mapped().local()) --local_targets_;
    return;
  }
  const auto at = target_.try_emplace(id).first;
  if (at->second.local()) --local_targets_;
  if (station->local()) ++local_targets_;
  at->second = *station;
}

void Carrier::count() {
  metrics_.local_attachments.set(static_cast<double>(local_targets_));
  metrics_.remote_attachments.set(static_cast<double>(target_.size() - local_targets_));
  metrics_.pending_changes.set(static_cast<double>(work_.depth()));
}

}  // namespace fairlead::networks
