#include "features/vip/election/soundings.h"

#include <algorithm>
#include <utility>

namespace fairlead::vip {

void Soundings::begin(Instant) {
  on_ = true;
  peers_.clear();
  longest_pause_ = {};
}

Sounding Soundings::end(Instant now, Duration patience) {
  on_ = false;
  Sounding all{.peers = {}, .longest_pause = longest_pause_};
  for (auto& [name, peer] : std::exchange(peers_, {})) {
    PeerSounding one = peer.sounding;
    one.peer = name;
    one.sent = one.answered +
               static_cast<std::uint64_t>(std::ranges::count_if(
                   peer.open, [&](const auto& open) { return now - open.second >= patience; }));
    all.peers.push_back(std::move(one));
  }
  return all;
}

void Soundings::sent(Instant now, std::uint64_t sequence, const std::string& peer) {
  if (!on_) return;
  std::map<std::uint64_t, Instant>& open = peers_[peer].open;
  if (open.size() < kMostOpen) open[sequence] = now;
}

void Soundings::answered(Instant now, std::uint64_t sequence, const std::string& peer) {
  if (!on_) return;
  const auto at = peers_.find(peer);
  if (at == peers_.end()) return;
  const auto sent = at->second.open.find(sequence);
  if (sent == at->second.open.end()) return;
  const Duration trip = now - sent->second;
  at->second.open.erase(sent);
  PeerSounding& one = at->second.sounding;
  ++one.answered;
  one.total += trip;
  one.longest = std::max(one.longest, trip);
}

void Soundings::woke(Instant due, Instant now) {
  if (on_) longest_pause_ = std::max(longest_pause_, now - due);
}

}  // namespace fairlead::vip
