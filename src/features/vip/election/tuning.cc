#include "features/vip/election/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead::vip {
namespace {

constexpr std::uint64_t kFewestSamples = 20;
constexpr double kRare = 1e-9;
constexpr int kFewestLost = 3, kMostLost = 12;
constexpr Duration kShortestLease = 50ms, kLongestLease = 60s;
constexpr Duration kShortestRenew = 5ms;
constexpr Duration kShortestMargin = 20ms;
constexpr int kSpare = 4;  // heartbeats in a lease beside those that may be lost

std::string text(Duration time) {
  return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(time).count());
}

Duration rounded_up(Duration time, Duration step) {
  return (time + step - Duration(1)) / step * step;
}

// Of no loss in n heartbeats no more is known than that it is rarer than about one in n.
double loss_of(const PeerSounding& peer) {
  const auto sent = static_cast<double>(peer.sent);
  return std::max(static_cast<double>(peer.sent - peer.answered), 1.0) / sent;
}

int losses_in_a_row(double loss) {
  if (loss >= 1) return kMostLost;
  return std::clamp(static_cast<int>(std::ceil(std::log(kRare) / std::log(loss))), kFewestLost,
                    kMostLost);
}

}  // namespace

Result<Proposal> propose_timing(const Measured& measured) {
  if (measured.sounding.peers.empty())
    return fail(Code::unavailable, "this node has no peers: any lease is long enough");
  double loss = 0;
  Duration trip{};
  std::string lossy, slow;
  for (const PeerSounding& peer : measured.sounding.peers) {
    if (peer.answered < kFewestSamples)
      return fail(Code::unavailable,
                  fmt::format("{} has answered {} of {} heartbeats: too few to say anything",
                              peer.peer, peer.answered, peer.sent));
    if (loss_of(peer) > loss) loss = loss_of(peer), lossy = peer.peer;
    if (peer.longest > trip) trip = peer.longest, slow = peer.peer;
  }
  const Duration pause = measured.sounding.longest_pause;
  const Duration interruption = 2 * std::max(trip, pause) + trip;
  const int lost = losses_in_a_row(loss);
  Proposal proposal{.timing = measured.in_force};
  Timing& timing = proposal.timing;
  timing.renew = rounded_up(std::max<Duration>(interruption / kSpare, kShortestRenew), 1ms);
  timing.lease = std::max<Duration>((lost + kSpare) * timing.renew, kShortestLease);
  timing.lease = std::min<Duration>(rounded_up(timing.lease, 10ms), kLongestLease);
  timing.renew = std::max<Duration>(timing.lease / (lost + kSpare) / 1ms * 1ms, kShortestRenew);
  timing.margin = rounded_up(std::max<Duration>(timing.lease / 15, kShortestMargin), 1ms);
  proposal.in_force_is_long_enough =
      measured.in_force.lease >= interruption + lost * measured.in_force.renew;
  proposal.reasons = {
      fmt::format("the longest round trip was {} (to {}), the longest pause of this machine {}",
                  text(trip), slow, text(pause)),
      fmt::format("of the heartbeats to {} at most {:.2g} % are lost: {} in a row must not end a "
                  "lease",
                  lossy, loss * 100, lost),
      fmt::format("margin: how long packets wait in a queue is not measured; lease / 15, at least "
                  "{}",
                  text(kShortestMargin)),
      fmt::format("a synced write to the state folder took at most {}: no failover waits for it, "
                  "changes of members do",
                  text(measured.longest_write)),
      proposal.in_force_is_long_enough
          ? fmt::format("the lease in force, {}, is long enough for what was seen",
                        text(measured.in_force.lease))
          : fmt::format("the lease in force, {}, is TOO SHORT for what was seen: it would be lost "
                        "now and then",
                        text(measured.in_force.lease))};
  return proposal;
}

}  // namespace fairlead::vip
