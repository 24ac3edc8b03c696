#include "api/control/loop.h"

namespace fairlead::control {

Task<void> every(runtime::Runtime& runtime, Duration interval, std::function<Task<void>()> act) {
  while (co_await runtime::sleep(runtime, interval)) co_await act();
}

}  // namespace fairlead::control
