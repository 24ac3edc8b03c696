#include "foundation/runtime/back_off.h"

#include <algorithm>

namespace fairlead::runtime {

BackOff::BackOff(const Limits& limits) : limits_(limits), step_(limits.first) {
  CHECK(limits.first > Duration::zero() && limits.first <= limits.longest);
}

Duration BackOff::next(Runtime& runtime) {
  Duration pause = least();
  if (limits_.jitter && pause > Duration::zero())
    pause += Duration(
        static_cast<std::int64_t>(runtime.random() % static_cast<std::uint64_t>(pause.count())));
  step_ = step_ > limits_.longest / 2 ? limits_.longest : step_ * 2;
  return pause;
}

Task<Result<>> BackOff::pause(Runtime& runtime) { return sleep(runtime, next(runtime)); }

}  // namespace fairlead::runtime
