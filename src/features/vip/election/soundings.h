// Soundings: what can be seen of the network and of this machine's scheduling from the heartbeats
// that are sent anyway: how many are answered, how soon, and how late timers are. Pure. Nothing is
// sent for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foundation/runtime/time.h"

namespace fairlead::vip {

struct PeerSounding {
  std::string peer;
  std::uint64_t sent = 0;  // heartbeats that had the time to be answered
  std::uint64_t answered = 0;
  Duration total{};  // of the round trips
  Duration longest{};
};

struct Sounding {
  std::vector<PeerSounding> peers;
  Duration longest_pause{};  // by which a timer was late
};

class Soundings {
 public:
  // Begins anew; until end() everything is noted.
  void begin(Instant now);
  // Heartbeats that are younger than `patience` and not answered count neither way.
  Sounding end(Instant now, Duration patience);

  void sent(Instant now, std::uint64_t sequence, const std::string& peer);
  void answered(Instant now, std::uint64_t sequence, const std::string& peer);
  // A timer that was due has fired.
  void woke(Instant due, Instant now);

 private:
  struct Peer {
    std::map<std::uint64_t, Instant> open;  // by sequence number
    PeerSounding sounding;
  };
  static constexpr std::size_t kMostOpen = 100'000;

  bool on_ = false;
  std::map<std::string, Peer> peers_;
  Duration longest_pause_{};
};

}  // namespace fairlead::vip
