// Link: the way from one machine to another, in one direction: how long things take, what gets
// lost, whether it is cut. Two links make a pair, and each may be cut alone.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/world/moment.h"
#include "sim/world/random.h"

namespace fairlead::sim {

// A distribution of delays: least + uniform(0, spread), and now and then a spike on top.
struct Delay {
  Duration least{0};
  Duration spread{0};
  std::uint32_t spike_per_million = 0;
  Duration spike{0};  // uniform(0, spike) is added

  Duration draw(Random& random) const;
};

struct LinkSettings {
  Delay latency{.least = 50us, .spread = 150us, .spike_per_million = 2'000, .spike = 20ms};
  std::uint32_t loss_per_million = 0;         // streams: seen as a retransmission's delay
  std::uint32_t duplicate_per_million = 0;    // datagrams and frames
  std::uint64_t bytes_per_second = 0;         // 0: unlimited
  Duration retransmit_after = 200ms;          // doubles with every loss …
  Duration retransmit_at_most = 120s;         // … up to this
  Duration give_up_after = 900s;              // a sender nobody acknowledges fails with timeout
  Duration connect_for = 127s;                // a dialler nobody answers fails with timeout
  std::size_t window = 256 << 10;             // bytes under way or unread, per direction
  std::uint32_t split_per_million = 100'000;  // a write arrives as two pieces, cut anywhere
};

class Link {
 public:
  Link(Random random, LinkSettings settings) : random_(random), settings_(settings) {}

  const LinkSettings& settings() const { return settings_; }
  void set(LinkSettings settings) { settings_ = settings; }

  // Cuts count: two overlapping faults need two heals.
  void cut() { ++cuts_; }
  void heal() {
    if (cuts_ > 0) --cuts_;
  }
  void heal_fully() { cuts_ = 0; }
  bool passes() const { return cuts_ == 0; }

  // When something of that size, sent now, arrives; takes the sender's turn on a slow link.
  Moment arrival(Moment now, std::size_t bytes);
  bool loses() { return random_.chance(settings_.loss_per_million); }
  bool duplicates() { return random_.chance(settings_.duplicate_per_million); }
  Random& random() { return random_; }

 private:
  Random random_;
  LinkSettings settings_;
  int cuts_ = 0;
  Moment busy_until_{};
};

}  // namespace fairlead::sim
