#include "features/networks/node/network_view.h"

#include <algorithm>
#include <limits>

namespace fairlead::networks {
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
  Entry& entry = entries_[attachment.key];
  // Counted before the old one is taken off: a network is not left and entered again.
  if (local) count_local(attachment, +1);
  by_uid_.insert_or_assign(attachment.uid, &entry);
  std::optional<Attachment> before;
  if (Sighting* seen = sighting(entry, source)) {
    before = std::exchange(seen->attachment, std::move(attachment));
  } else {
    entry.sightings.push_back({source, std::move(attachment)});
  }
  resolve(entry);
  if (!before) return;
  release(entry, before->uid);
  if (local) count_local(*before, -1);
}

void NetworkView::erase(const Source& source, std::string_view key) {
  if (const auto at = entries_.find(key); at != entries_.end()) remove(at, source);
}

void NetworkView::remove(Entries::iterator at, const Source& source) {
  Entry& entry = at->second;
  Sighting* seen = sighting(entry, source);
  if (!seen) return;
  const Attachment before = std::move(seen->attachment);
  entry.sightings.erase(entry.sightings.begin() + (seen - entry.sightings.data()));
  resolve(entry);
  release(entry, before.uid);
  if (entry.sightings.empty()) entries_.erase(at);
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

// What is seen of `entry` changed: its candidate may have, and with it whom others contend with.
void NetworkView::resolve(Entry& entry) {
  const Sighting* winner = newest(entry);
  std::optional<fabric::Station> candidate;
  if (winner) candidate = winner->attachment.station();
  if (candidate == entry.candidate) return;
  std::vector<Entry*> touched;
  withdraw_claims(entry, touched);
  if (entry.candidate && (!candidate || candidate->id != entry.candidate->id))
    set_desired(entry.candidate->id, nullptr);
  entry.candidate = std::move(candidate);
  make_claims(entry, touched);
  std::vector<const Entry*> decided;
  for (const Entry* other : touched) {
    if (std::ranges::find(decided, other) != decided.end()) continue;
    decided.push_back(other);
    decide(*other);
  }
}

void NetworkView::withdraw_claims(Entry& entry, std::vector<Entry*>& touched) {
  for (const Claims::value_type* claim : entry.claims) {
    const auto at = claims_.find(claim->first);
    std::erase(at->second, &entry);
    touched.insert(touched.end(), at->second.begin(), at->second.end());
    if (at->second.empty()) claims_.erase(at);
  }
  entry.claims.clear();
}

void NetworkView::make_claims(Entry& entry, std::vector<Entry*>& touched) {
  if (!entry.candidate) return;
  for (Claim& claim : claims_of(*entry.candidate)) {
    const auto at = claims_.try_emplace(std::move(claim)).first;
    touched.insert(touched.end(), at->second.begin(), at->second.end());
    at->second.push_back(&entry);
    entry.claims.push_back(&*at);
  }
  touched.push_back(&entry);
}

// Someone sees this uid no longer; perhaps nobody does.
void NetworkView::release(const Entry& entry, const std::string& uid) {
  const bool seen = std::ranges::any_of(
      entry.sightings, [&](const Sighting& sighting) { return sighting.attachment.uid == uid; });
  if (!seen) by_uid_.erase(uid);
}

void NetworkView::decide(const Entry& entry) {
  if (!entry.candidate) return;
  const fabric::Station& station = *entry.candidate;
  const bool alone = !contested(station.vni) &&
                     std::ranges::all_of(
                         entry.claims, [](const auto* claim) { return claim->second.size() == 1; });
  set_desired(station.id, alone ? &station : nullptr);
  if (!alone && station.local()) changed_.push_back(station.id);  // with whom may have changed
}

void NetworkView::decide_all(fabric::Vni vni) {
  for (const auto& [key, entry] : entries_)
    if (entry.candidate && entry.candidate->vni == vni) decide(entry);
}

void NetworkView::set_desired(const std::string& uid, const fabric::Station* station) {
  if (!station) {
    if (desired_.erase(uid) > 0) changed_.push_back(uid);
    return;
  }
  const auto [at, is_new] = desired_.try_emplace(uid, *station);
  if (!is_new && at->second == *station) return;
  if (!is_new) at->second = *station;
  changed_.push_back(uid);
}

std::vector<Network> NetworkView::relevant() const {
  std::vector<Network> networks;
  for (const auto& [network, count] : local_counts_) networks.push_back(network);
  return networks;
}

std::vector<std::string> NetworkView::take_changed() {
  std::vector<std::string> changed = std::exchange(changed_, {});
  std::ranges::sort(changed);
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
  return changed;
}

std::vector<std::string> NetworkView::problems(std::string_view uid) const {
  const auto at = by_uid_.find(uid);
  if (at == by_uid_.end() || !at->second->candidate || at->second->candidate->id != uid) return {};
  const Entry& entry = *at->second;
  std::vector<std::string> problems;
  if (contested(entry.candidate->vni)) {
    problems.push_back("virtual network " + std::to_string(entry.candidate->vni) +
                       " is used in several namespaces on this node");
  }
  for (const auto* claim : entry.claims) {
    const auto& [what, claimants] = *claim;
    if (claimants.size() == 1) continue;
    std::set<std::string> others;
    for (const Entry* other : claimants)
      if (other != &entry) others.insert(newest(*other)->attachment.key);
    problems.push_back(text_of(what.what) + " in virtual network " + std::to_string(what.vni) +
                       " is also claimed by " + *others.begin());
  }
  return problems;
}

const NetworkView::Sighting* NetworkView::newest(std::string_view uid) const {
  const auto at = by_uid_.find(uid);
  const Sighting* seen = at == by_uid_.end() ? nullptr : newest(*at->second);
  return seen && seen->attachment.uid == uid ? seen : nullptr;
}

const Attachment* NetworkView::find(std::string_view uid) const {
  const Sighting* seen = newest(uid);
  return seen ? &seen->attachment : nullptr;
}

std::vector<const Attachment*> NetworkView::out_of_reach() const {
  std::vector<const Attachment*> found;
  for (const auto& [key, entry] : entries_)
    if (const Sighting* seen = newest(entry);
        seen && seen->attachment.out_of_reach && !seen->attachment.local)
      found.push_back(&seen->attachment);
  return found;
}

std::uint64_t NetworkView::known_up_to(std::string_view uid) const {
  const Sighting* seen = newest(uid);
  if (!seen) return std::numeric_limits<std::uint64_t>::max();
  const auto reached = reached_.find(seen->source);
  return reached == reached_.end() ? 0 : reached->second;
}

}  // namespace fairlead::networks
