#include "features/vip/election/tenure.h"

#include <algorithm>

namespace fairlead::vip {

void Tenure::want(const Claim& claim) {
  Held& held = held_[claim.vip];
  if (held.epoch != claim.epoch) held = {.epoch = claim.epoch, .deadline = {}};
}

void Tenure::give_up(const Ip& vip) { held_.erase(vip); }

std::vector<Claim> Tenure::claims() const {
  std::vector<Claim> claims;
  for (const auto& [vip, held] : held_) claims.push_back({vip, held.epoch});
  return claims;
}

std::vector<Beat> Tenure::beat(Instant now, std::size_t page) {
  while (!sent_.empty() && now >= sent_.front().at + sent_.front().lease) sent_.pop_front();
  std::vector<Beat> beats;
  std::vector<Claim> all = claims();
  for (std::size_t begin = 0; begin < all.size() || begin == 0; begin += page) {
    const auto end = std::min(begin + page, all.size());
    Sent& sent =
        sent_.emplace_back(Sent{.sequence = ++sequence_,
                                .at = now,
                                .lease = lease_,
                                .members = members_,
                                .claims = {all.begin() + static_cast<std::ptrdiff_t>(begin),
                                           all.begin() + static_cast<std::ptrdiff_t>(end)},
                                .granted = {}});
    sent.granted.resize(sent.claims.size());
    beats.push_back({.sequence = sent.sequence,
                     .members = sent.members->version,
                     .lease = sent.lease,
                     .claims = sent.claims,
                     .more = end < all.size()});
  }
  return beats;
}

void Tenure::answered(const std::string& peer, std::uint64_t sequence,
                      const std::vector<Verdict>& verdicts) {
  const auto sent = std::ranges::find(sent_, sequence, &Sent::sequence);
  if (sent == sent_.end() || verdicts.size() != sent->claims.size()) return;
  if (!sent->members->voters.contains(peer)) return;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].granted()) continue;
    sent->granted[i].insert(peer);
    if (2 * sent->granted[i].size() <= sent->members->voters.size()) continue;
    const auto held = held_.find(sent->claims[i].vip);
    if (held == held_.end() || held->second.epoch != sent->claims[i].epoch) continue;
    const Instant until = sent->at + sent->lease;
    if (!held->second.deadline || *held->second.deadline < until) held->second.deadline = until;
  }
}

std::optional<Instant> Tenure::deadline(const Ip& vip) const {
  const auto held = held_.find(vip);
  return held == held_.end() ? std::nullopt : held->second.deadline;
}

}  // namespace fairlead::vip
