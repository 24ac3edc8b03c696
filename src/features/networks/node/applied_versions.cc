#include "features/networks/node/applied_versions.h"

#include <algorithm>

namespace fairlead::networks {

void AppliedVersions::advance(Progress& progress) {
  while (!progress.open.empty() && progress.open.begin()->second.empty()) {
    progress.applied = std::max(progress.applied, progress.open.begin()->first);
    progress.open.erase(progress.open.begin());
  }
}

void AppliedVersions::changed(fabric::Vni vni, std::uint64_t version,
                              const std::vector<std::string>& ids) {
  Progress& progress = progress_of(vni);
  progress.open[version].insert(ids.begin(), ids.end());
  for (const std::string& id : ids) waiting_[id].insert(vni);
}

void AppliedVersions::settled(const std::string& id, std::uint64_t version) {
  const auto waiting = waiting_.find(id);
  if (waiting == waiting_.end()) return;
  std::erase_if(waiting->second, [&](fabric::Vni vni) {
    Progress& progress = progress_of(vni);
    bool remains = false;
    for (auto& [at, ids] : progress.open) {
      if (at <= version) {
        ids.erase(id);
      } else {
        remains |= ids.contains(id);
      }
    }
    advance(progress);
    return !remains;
  });
  if (waiting->second.empty()) waiting_.erase(waiting);
}

std::vector<std::string> AppliedVersions::waiting() const {
  std::vector<std::string> ids;
  for (const auto& [id, networks] : waiting_) ids.push_back(id);
  return ids;
}

void AppliedVersions::entered(fabric::Vni vni) { networks_[vni].left = false; }

void AppliedVersions::left(fabric::Vni vni) { networks_[vni].left = true; }

bool AppliedVersions::all_told() const {
  return std::ranges::all_of(networks_,
                             [](const auto& network) { return network.second.applied != 0; });
}

// What was applied is found out when it is asked for, not when something changes: one event may
// change several things at its version.
AppliedVersions::Report AppliedVersions::report(Instant now) {
  advance(own_);
  for (auto& [vni, progress] : networks_) advance(progress);
  Report report;
  if (own_.applied > own_.reported) report.own = own_.applied;
  const bool told = all_told();
  std::uint64_t elsewhere = surveyed_;
  for (const auto& [vni, progress] : networks_) {
    if (progress.applied > progress.reported) {
      report.networks.emplace(vni, progress.applied);
    } else if (told && progress.left && progress.open.empty() && progress.reported != 0 &&
               now >= progress.forget) {
      report.networks.emplace(vni, std::nullopt);
      elsewhere = std::max(elsewhere, known_);
    }
  }
  if (told && elsewhere > reported_elsewhere_) report.elsewhere = elsewhere;
  return report;
}

void AppliedVersions::start_over() {
  reported_elsewhere_ = 0;
  surveyed_ = std::max(surveyed_, known_);
  own_.reported = 0;
  for (auto& [vni, progress] : networks_) progress.reported = 0;
}

void AppliedVersions::reported(const Report& report, Instant now) {
  if (report.own) own_.reported = *report.own;
  if (report.elsewhere) reported_elsewhere_ = *report.elsewhere;
  for (const auto& [vni, version] : report.networks) {
    const auto at = networks_.find(vni);
    if (at == networks_.end()) continue;
    if (version) {
      at->second.reported = *version;
      at->second.forget = now + kKeepAfterLeaving;
    } else if (at->second.left && at->second.open.empty()) {
      networks_.erase(at);
    } else {
      at->second.reported = 0;  // it came back meanwhile: the entry is to be made anew
    }
  }
}

std::optional<Instant> AppliedVersions::due() const {
  std::optional<Instant> due;
  if (!all_told()) return due;
  for (const auto& [vni, progress] : networks_)
    if (progress.left && progress.open.empty() && progress.reported == progress.applied &&
        progress.reported != 0)
      due = due ? std::min(*due, progress.forget) : progress.forget;
  return due;
}

}  // namespace fairlead::networks
