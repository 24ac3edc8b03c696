#include "features/vip/election/promise_book.h"

#include <algorithm>

namespace fairlead::vip {

PromiseBook::PromiseBook(const Timing& timing, Instant begun)
    : timing_(timing), grants_from_(begun + promise_length(timing, timing.lease)) {}

void PromiseBook::set_timing(const Timing& timing, Instant now) {
  const Duration before = promise_length(timing_, timing_.lease);
  timing_ = timing;
  const Duration after = promise_length(timing_, timing_.lease);
  if (grants_from_ > now && after > before) grants_from_ += after - before;
}

Verdict PromiseBook::claim(Instant now, const Claimant& who, Duration lease, const Claim& claim) {
  if (now < grants_from_) return {.kind = Verdict::Kind::young, .wait = grants_from_ - now};
  if (lease > timing_.lease) return {.kind = Verdict::Kind::lease};
  Promise& promise = promises_[claim.vip];
  if (claim.epoch < promise.newest)
    return {.kind = Verdict::Kind::superseded, .epoch = promise.newest};
  if (promise.to != who && now < promise.until)
    return {.kind = Verdict::Kind::promised, .wait = promise.until - now};
  promise.until = std::max(promise.until, now + promise_length(timing_, lease));
  promise.to = who;
  promise.granted = promise.newest = claim.epoch;
  return {};
}

void PromiseBook::release(const Claimant& who, const Claim& claim) {
  const auto at = promises_.find(claim.vip);
  if (at == promises_.end() || at->second.to != who || at->second.granted > claim.epoch) return;
  at->second.until = {};
  at->second.newest = std::max(at->second.newest, claim.epoch + 1);
}

void PromiseBook::release_all(const Claimant& who) {
  for (auto& [vip, promise] : promises_)
    if (promise.to == who) promise.until = {};
}

void PromiseBook::supersede(const Ip& vip, Epoch epoch) {
  Promise& promise = promises_[vip];
  promise.newest = std::max(promise.newest, epoch);
}

std::optional<Instant> PromiseBook::promised_until(const Ip& vip) const {
  const auto at = promises_.find(vip);
  if (at == promises_.end() || at->second.until == Instant{}) return std::nullopt;
  return at->second.until;
}

}  // namespace fairlead::vip
