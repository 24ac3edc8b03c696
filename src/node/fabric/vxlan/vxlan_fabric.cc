#include "node/fabric/vxlan/vxlan_fabric.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"

namespace fairlead::fabric {
namespace {

// Stations that an audit copies at once.
constexpr std::size_t kAuditedAtOnce = 256;

// By id: what does not fit is the same every time.
std::vector<const Desired::value_type*> in_order(const Desired& desired) {
  std::vector<const Desired::value_type*> stations;
  stations.reserve(desired.size());
  for (const auto& station : desired) stations.push_back(&station);
  std::ranges::sort(stations, {}, [](const Desired::value_type* station) -> const std::string& {
    return station->first;
  });
  return stations;
}

Desired part_of(const std::vector<const Desired::value_type*>& stations, std::size_t from) {
  Desired part;
  const std::size_t to = std::min(from + kAuditedAtOnce, stations.size());
  for (std::size_t at = from; at < to; ++at) part.insert(*stations[at]);
  return part;
}

}  // namespace

VxlanFabric::VxlanFabric(runtime::Runtime& runtime, vxlan::VxlanOptions options)
    : runtime_(runtime),
      host_(std::make_shared<vxlan::VxlanHost>(std::move(options))),
      scope_(runtime) {}

VxlanFabric::~VxlanFabric() {
  if (watching_) host_->watch()->stop();
}

Task<Result<>> VxlanFabric::open() {
  auto work = [host = host_] { return host->open(); };
  FL_CO_CHECKED(co_await runtime::blocking(runtime_, std::move(work)));
  if (!std::exchange(watching_, true)) scope_.spawn(watch());
  co_return Result<>{};
}

Task<std::vector<Outcome>> VxlanFabric::apply(const Desired& desired,
                                              std::span<const std::string> ids) {
  // Copies, since the work goes on when whoever waits for it is gone.
  Desired wanted;
  for (const std::string& id : ids)
    if (const auto station = desired.find(id); station != desired.end()) wanted.insert(*station);
  auto work = [host = host_, wanted = std::move(wanted),
               list = std::vector<std::string>(ids.begin(), ids.end())] {
    return host->apply(wanted, list);
  };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

// Parts are copies, since the work goes on when whoever waits for it is gone.
Task<Result<Audit>> VxlanFabric::audit(const Desired& desired) {
  auto begin = [host = host_] { return host->begin_audit(); };
  FL_CO_TRY(vxlan::VxlanHost::Auditing begun,
            co_await runtime::blocking(runtime_, std::move(begin)));
  const auto auditing = std::make_shared<vxlan::VxlanHost::Auditing>(std::move(begun));
  const std::vector<const Desired::value_type*> stations = in_order(desired);
  for (std::size_t at = 0; at < stations.size(); at += kAuditedAtOnce) {
    auto fill = [host = host_, auditing, part = part_of(stations, at)] {
      host->fill(part, *auditing);
    };
    co_await runtime::blocking(runtime_, std::move(fill));
  }
  auto remove_surplus = [host = host_, auditing] { host->remove_surplus(*auditing); };
  co_await runtime::blocking(runtime_, std::move(remove_surplus));
  for (std::size_t at = 0; at < stations.size(); at += kAuditedAtOnce) {
    auto mend = [host = host_, auditing, part = part_of(stations, at)] {
      host->mend(part, ids_of(part), *auditing);
    };
    co_await runtime::blocking(runtime_, std::move(mend));
  }
  auto end = [host = host_, auditing] { return host->end_audit(*auditing); };
  co_return co_await runtime::blocking(runtime_, std::move(end));
}

Task<Result<vxlan::Counters>> VxlanFabric::counters() {
  auto work = [host = host_] { return host->counters(); };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

Task<Result<>> VxlanFabric::dismantle() {
  auto work = [host = host_] { return host->dismantle(); };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

Task<void> VxlanFabric::watch() {
  for (;;) {
    auto work = [watch = host_->watch()] { return watch->wait(); };
    const Result<bool> disturbed = co_await runtime::blocking(runtime_, std::move(work));
    if (!disturbed) {
      log::error("interfaces are not watched any more", {{"error", disturbed.error().to_string()}});
      co_return;
    }
    if (!*disturbed) co_return;
    disturbed_.notify();
  }
}

}  // namespace fairlead::fabric
