// When a holder tells its neighbours: at once, several times with growing gaps (a frame may be lost
// and a switch may be learning), and from then on at intervals, for neighbours that came later or
// that somebody told otherwise. Pure.
#pragma once

#include <optional>

#include "foundation/runtime/time.h"

namespace fairlead::vip {

struct AnnouncementTimes {
  int repeats = 5;         // after the first; at most 20
  Duration within = 2s;    // the last of them
  Duration refresh = 30s;  // from then on; at least 100 ms
};

class AnnouncementSchedule {
 public:
  explicit AnnouncementSchedule(AnnouncementTimes times = {});

  // From the beginning: due now.
  void begin(Instant now);
  void stop() { due_.reset(); }

  // Whether to announce now; what is due is then taken as done. Turns that were missed are not made
  // up for.
  bool take(Instant now);
  // Nothing: stopped.
  std::optional<Instant> due() const { return due_; }

 private:
  AnnouncementTimes times_;
  Instant begun_{};
  int done_ = 0;
  std::optional<Instant> due_;
};

}  // namespace fairlead::vip
