// Relay: what becomes of packets to a VIP that still arrive at a host after it has given the VIP
// up: they are kept until its successor announces itself, then sent on to it, and so is what comes
// later, until the neighbours have moved. So a planned move loses nothing. Pure: frames in, frames
// out.
//
// A frame is as FrameTap gives it, with kTapHead bytes before the Ethernet header. What is sent on
// has the successor's MAC as target and this host's as source, so that no switch takes this host
// for the sender.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/ip.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

// Takes what a relay wants: packets to the VIP for this host, and claims to it, without VLAN tags.
std::vector<sock_filter> relay_filter(const Ip& vip);

class Relay {
 public:
  struct Limits {
    std::size_t frames = 4'096, bytes = 8 << 20;  // that are kept; the oldest go first
    Duration without_successor = 3s;
    Duration with_successor = 1s;
  };
  Relay(const Ip& vip, const Mac& own, Instant now, Limits limits);
  Relay(const Ip& vip, const Mac& own, Instant now) : Relay(vip, own, now, Limits{}) {}

  // What is to be sent on now.
  std::vector<std::string> take(Instant now, std::string frame);
  // When it is over.
  Instant until() const { return until_; }

  std::size_t relayed() const { return relayed_; }
  std::size_t lost() const { return lost_; }
  const std::optional<Mac>& successor() const { return successor_; }

 private:
  void keep(std::string frame);
  std::string readdressed(std::string frame);

  Ip vip_;
  Mac own_;
  Limits limits_;
  Instant until_;
  std::optional<Mac> successor_;
  std::deque<std::string> kept_;
  std::size_t bytes_ = 0, relayed_ = 0, lost_ = 0;
};

}  // namespace fairlead::vip
