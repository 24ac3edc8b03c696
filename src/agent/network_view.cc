#include "agent/network_view.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace fairlead::agent {
namespace {

std::string text_of(const std::variant<Ip, Mac>& what) {
  return std::visit([](const auto& value) { return value.to_string(); }, what);
}

}  // namespace

std::vector<NetworkView::Claim> NetworkView::claims_of(const fabric::Station& station) {
  std::vector<Claim> claims{{station.vni, station.mac}};
  for (const Ip& ip : station.addresses) claims.push_back({station.vni, ip});
  return claims;
}

const NetworkView::Sighting* NetworkView::newest(const Entry& entry) {
  const auto best = std::ranges::max_element(
      entry.sightings, {}, [](const Sighting& seen) { return seen.attachment.version; });
  return best == entry.sightings.end() ? nullptr : &*best;
}

NetworkView::Sighting* NetworkView::sighting(Entry& entry, const Source& source) {
  const auto found = std::ranges::find(entry.sightings, source, &Sighting::source);
  return found == entry.sightings.end() ? nullptr : &*found;
}

void NetworkView::put(const Source& source, Attachment attachment) {
  const bool local = source == Source(kLocal);
  if (!local && (attachment.local || !is_relevant(*source))) return;
  const std::string key = attachment.key;
  Entry& entry = entries_[key];
  // Counted before the old one is taken off: a network is not left and entered again.
  if (local) count_local(attachment, +1);
  keys_.insert_or_assign(attachment.uid, key);
  std::optional<Attachment> before;
  if (Sighting* seen = sighting(entry, source)) {
    before = std::exchange(seen->attachment, std::move(attachment));
  } else {
    entry.sightings.push_back({source, std::move(attachment)});
  }
  resolve(key);
  if (!before) return;
  release(before->uid);
  if (local) count_local(*before, -1);
}

void NetworkView::erase(const Source& source, std::string_view key) {
  if (const auto at = entries_.find(key); at != entries_.end()) remove(at, source);
}

void NetworkView::remove(Entries::iterator at, const Source& source) {
  Sighting* seen = sighting(at->second, source);
  if (!seen) return;
  const std::string key = at->first;
  const Attachment before = std::move(seen->attachment);
  at->second.sightings.erase(at->second.sightings.begin() + (seen - at->second.sightings.data()));
  resolve(key);
  release(before.uid);
  if (!source) count_local(before, -1);
}

void NetworkView::replace(const Source& source, std::vector<Attachment> attachments) {
  // Until all are in, what they are in stays relevant: a network is not left, and what its informer
  // showed forgotten, because the one that was in it before is looked at first.
  std::vector<Network> held;
  for (const Attachment& attachment : attachments)
    if (!source && attachment.vni != 0) held.push_back(attachment.network());
  for (const Network& network : held) count_network(network, +1);
  std::set<std::string, std::less<>> present;
  for (Attachment& attachment : attachments) {
    present.insert(attachment.key);
    put(source, std::move(attachment));
  }
  std::vector<std::string> gone;
  for (auto& [key, entry] : entries_)
    if (!present.contains(key) && sighting(entry, source)) gone.push_back(key);
  for (const std::string& key : gone) erase(source, key);
  for (const Network& network : held) count_network(network, -1);
}

void NetworkView::reached(const Source& source, std::uint64_t version) {
  if (source && !is_relevant(*source)) return;
  std::uint64_t& reached = reached_[source];
  reached = std::max(reached, version);
}

void NetworkView::count_local(const Attachment& attachment, int by) {
  local_total_ += static_cast<std::size_t>(by);
  if (attachment.vni != 0) count_network(attachment.network(), by);
}

void NetworkView::count_network(const Network& network, int by) {
  std::size_t& count = local_counts_[network];
  count += static_cast<std::size_t>(by);
  if (by > 0 && count == 1) {
    ++relevance_;
    decide_all(network.vni);
  } else if (count == 0) {
    ++relevance_;
    local_counts_.erase(network);
    forget_network(network);
    decide_all(network.vni);
  }
}

void NetworkView::forget_network(const Network& network) {
  std::vector<std::string> keys;
  for (auto& [key, entry] : entries_)
    if (sighting(entry, network)) keys.push_back(key);
  for (const std::string& key : keys) erase(network, key);
  reached_.erase(network);
}

bool NetworkView::contested(fabric::Vni vni) const {
  const auto first = local_counts_.lower_bound(Network{vni, ""});
  if (first == local_counts_.end() || first->first.vni != vni) return false;
  const auto second = std::next(first);
  return second != local_counts_.end() && second->first.vni == vni;
}

// The sightings of `key` changed: its candidate may have, and with it whom others contend with.
void NetworkView::resolve(const std::string& key) {
  const auto at = entries_.find(key);
  CHECK(at != entries_.end());
  Entry& entry = at->second;
  const Sighting* winner = newest(entry);
  std::optional<fabric::Station> candidate;
  if (winner) candidate = winner->attachment.station();
  if (candidate != entry.candidate) {
    const std::optional<fabric::Station> before = std::exchange(entry.candidate, candidate);
    std::set<std::string> touched;
    if (before) {
      for (const Claim& claim : claims_of(*before)) {
        const auto claimed = claims_.find(claim);
        CHECK(claimed != claims_.end());
        std::erase(claimed->second, key);
        touched.insert(claimed->second.begin(), claimed->second.end());
        if (claimed->second.empty()) claims_.erase(claimed);
      }
      if (!candidate || candidate->id != before->id) set_desired(before->id, nullptr);
    }
    if (candidate) {
      for (const Claim& claim : claims_of(*candidate)) {
        std::vector<std::string>& claimants = claims_[claim];
        touched.insert(claimants.begin(), claimants.end());
        claimants.push_back(key);
      }
      touched.insert(key);
    }
    for (const std::string& other : touched) decide(other);
  }
  if (entry.sightings.empty()) entries_.erase(at);
}

// Someone sees this uid no longer; perhaps nobody does.
void NetworkView::release(const std::string& uid) {
  const auto key = keys_.find(uid);
  if (key == keys_.end()) return;
  const auto entry = entries_.find(key->second);
  const bool seen = entry != entries_.end() &&
                    std::ranges::any_of(entry->second.sightings, [&](const Sighting& sighting) {
                      return sighting.attachment.uid == uid;
                    });
  if (!seen) keys_.erase(key);
}

void NetworkView::decide(const std::string& key) {
  const Entry& entry = entries_.find(key)->second;
  if (!entry.candidate) return;
  const fabric::Station& station = *entry.candidate;
  bool alone = !contested(station.vni);
  for (const Claim& claim : claims_of(station)) alone = alone && claims_.at(claim).size() == 1;
  set_desired(station.id, alone ? &station : nullptr);
  if (!alone && station.local()) changed_.insert(station.id);  // with whom may have changed
}

void NetworkView::decide_all(fabric::Vni vni) {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_)
    if (entry.candidate && entry.candidate->vni == vni) keys.push_back(key);
  for (const std::string& key : keys) decide(key);
}

void NetworkView::set_desired(const std::string& uid, const fabric::Station* station) {
  const auto at = desired_.find(uid);
  if (!station) {
    if (at == desired_.end()) return;
    changed_.insert(uid);
    desired_.erase(at);
    return;
  }
  if (at != desired_.end() && at->second == *station) return;
  changed_.insert(uid);
  desired_.insert_or_assign(uid, *station);
}

std::vector<Network> NetworkView::relevant() const {
  std::vector<Network> networks;
  for (const auto& [network, count] : local_counts_) networks.push_back(network);
  return networks;
}

std::vector<std::string> NetworkView::take_changed() {
  const std::set<std::string> changed = std::exchange(changed_, {});
  return {changed.begin(), changed.end()};
}

std::vector<std::string> NetworkView::problems(std::string_view uid) const {
  const Attachment* attachment = find(uid);
  if (!attachment) return {};
  const Entry& entry = entries_.find(attachment->key)->second;
  if (!entry.candidate) return {};
  const fabric::Station& station = *entry.candidate;
  std::vector<std::string> problems;
  if (contested(station.vni)) {
    problems.push_back("virtual network " + std::to_string(station.vni) +
                       " is used in several namespaces on this node");
  }
  for (const Claim& claim : claims_of(station)) {
    const std::vector<std::string>& claimants = claims_.at(claim);
    if (claimants.size() == 1) continue;
    std::set<std::string> others(claimants.begin(), claimants.end());
    others.erase(attachment->key);
    problems.push_back(text_of(claim.what) + " in virtual network " + std::to_string(claim.vni) +
                       " is also claimed by " + *others.begin());
  }
  return problems;
}

const NetworkView::Entry* NetworkView::entry_of(std::string_view uid) const {
  const auto key = keys_.find(uid);
  if (key == keys_.end()) return nullptr;
  const auto entry = entries_.find(key->second);
  return entry == entries_.end() ? nullptr : &entry->second;
}

const Attachment* NetworkView::find(std::string_view uid) const {
  const Entry* entry = entry_of(uid);
  const Sighting* seen = entry ? newest(*entry) : nullptr;
  return seen && seen->attachment.uid == uid ? &seen->attachment : nullptr;
}

std::uint64_t NetworkView::known_up_to(std::string_view uid) const {
  const Entry* entry = entry_of(uid);
  const Sighting* seen = entry ? newest(*entry) : nullptr;
  if (!seen || seen->attachment.uid != uid) return std::numeric_limits<std::uint64_t>::max();
  const auto reached = reached_.find(seen->source);
  return reached == reached_.end() ? 0 : reached->second;
}

}  // namespace fairlead::agent
