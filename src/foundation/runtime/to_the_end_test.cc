#include "foundation/runtime/to_the_end.h"

#include <gtest/gtest.h>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/manual_runtime.h"

namespace fairlead::runtime {
namespace {

Task<void> wait_twice(Signal& signal, int& seen) {
  for (int i = 0; i < 2; ++i)
    if (co_await signal.wait()) ++seen;
}

Task<void> stop(ManualRuntime& runtime, Signal& go, Signal& signal, int& seen, bool& ended) {
  (void)co_await go.wait();  // cancelled
  co_await to_the_end(runtime, wait_twice(signal, seen));
  ended = true;
}

// What is begun in a fiber that was cancelled, and cancelled again meanwhile, is not interrupted.
TEST(ToTheEnd, IsNotInterrupted) {
  ManualRuntime runtime;
  Signal go, signal;
  int seen = 0;
  bool ended = false;
  Scope scope(runtime);
  scope.spawn(stop(runtime, go, signal, seen, ended));
  runtime.settle();
  scope.cancel();
  runtime.settle();
  signal.notify();
  runtime.settle();
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(ended);
  signal.notify();
  runtime.settle();
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(ended);
  EXPECT_EQ(scope.size(), 0U);
}

}  // namespace
}  // namespace fairlead::runtime
