#include "features/vip/announce/schedule.h"

#include <algorithm>

namespace fairlead::vip {

AnnouncementSchedule::AnnouncementSchedule(AnnouncementTimes times)
    : times_{.repeats = std::clamp(times.repeats, 0, 20),
             .within = std::max<Duration>(times.within, 0s),
             .refresh = std::max<Duration>(times.refresh, 100ms)} {}

void AnnouncementSchedule::begin(Instant now) {
  begun_ = now;
  done_ = 0;
  due_ = now;
}

// The gaps double: 1/16, 1/8, 1/4 and 1/2 of the time, and its end, with five repeats.
bool AnnouncementSchedule::take(Instant now) {
  if (!due_ || now < *due_) return false;
  do {
    ++done_;
    due_ = done_ <= times_.repeats ? begun_ + times_.within / (1 << (times_.repeats - done_))
                                   : *due_ + times_.refresh;
  } while (now >= *due_);
  return true;
}

}  // namespace fairlead::vip
