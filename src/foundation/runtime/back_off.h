// BackOff: how long to wait before the next attempt at something that failed.
//
// The pause starts at `first` and doubles with every failure up to `longest`. With jitter it is
// drawn from the upper half of that, so that the many clients of a server that comes back do not
// all return at once. Randomness is the Runtime's: the same seed gives the same pauses.
#pragma once

#include "foundation/runtime/runtime.h"

namespace fairlead::runtime {

class BackOff {
 public:
  struct Limits {
    Duration first;
    Duration longest;
    bool jitter = false;
  };

  // REQUIRES: 0 < first <= longest.
  explicit BackOff(const Limits& limits);

  // It failed once more: the pause before the next attempt.
  Duration next(Runtime& runtime);
  // Sleeps for next(); fails only with cancelled.
  Task<Result<>> pause(Runtime& runtime);

  // It worked: the next failure is the first one.
  void reset() { step_ = limits_.first; }
  // It worked for `held`. Starts over only if that is longer than the next pause: what breaks at
  // once, again and again, is tried ever less often.
  void held(Duration held) {
    if (held > least()) reset();
  }

 private:
  Duration least() const { return limits_.jitter ? step_ / 2 : step_; }

  Limits limits_;
  Duration step_;  // the longest that the next pause can be
};

}  // namespace fairlead::runtime
