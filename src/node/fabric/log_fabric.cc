#include "node/fabric/log_fabric.h"

#include "foundation/base/log.h"

namespace fairlead::fabric {
namespace {

void say(std::string_view what, const Station& station) {
  std::string addresses;
  for (const Ip& ip : station.addresses)
    addresses += (addresses.empty() ? "" : ",") + ip.to_string();
  log::info(what, {{"vni", station.vni},
                   {"mac", station.mac.to_string()},
                   {"addresses", addresses},
                   {station.local() ? "interface" : "host",
                    station.local() ? station.interface : station.host.to_string()}});
}

}  // namespace

Task<Result<>> LogFabric::open() { co_return Result<>{}; }

std::vector<Station> LogFabric::local_stations() const {
  std::vector<Station> stations;
  for (const auto& [id, station] : carried_)
    if (station.local()) stations.push_back(station);
  return stations;
}

Outcome LogFabric::bring(const Desired& desired, const std::string& id) {
  const auto wanted = desired.find(id);
  const auto carried = carried_.find(id);
  Outcome outcome{.id = id, .result = {}};
  if (wanted == desired.end()) {
    if (carried == carried_.end()) return outcome;
    if (options_.say) say("would remove", carried->second);
    carried_.erase(carried);
    return outcome;
  }
  if (carried != carried_.end() && carried->second == wanted->second) return outcome;
  if (options_.say) say("would carry", wanted->second);
  outcome.made_interface =
      wanted->second.local() && (carried == carried_.end() || !carried->second.local());
  carried_.insert_or_assign(id, wanted->second);
  return outcome;
}

Task<std::vector<Outcome>> LogFabric::apply(const Desired& desired,
                                            std::span<const std::string> ids) {
  std::vector<Outcome> outcomes;
  for (const std::string& id : ids) outcomes.push_back(bring(desired, id));
  co_return outcomes;
}

Task<Result<Audit>> LogFabric::audit(const Desired& desired) {
  Audit audit;
  std::vector<std::string> ids;
  for (const auto& [id, station] : carried_)
    if (!desired.contains(id)) ids.push_back(id);
  audit.unexpected = ids.size();
  for (const auto& [id, station] : desired) {
    const auto carried = carried_.find(id);
    if (carried != carried_.end() && carried->second == station) continue;
    ids.push_back(id);
    ++audit.missing;
  }
  for (const std::string& id : ids)
    if (bring(desired, id).made_interface) audit.made.push_back(id);
  co_return audit;
}

}  // namespace fairlead::fabric
