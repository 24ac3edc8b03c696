#include "api/apiserver/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::apiserver {
namespace {

using Lines = std::vector<std::string>;

Task<void> heavy(Turns& turns, std::string name, int pieces, Lines& log) {
  auto work = [&] {
    log.push_back(name);
    return name;
  };
  for (int i = 0; i < pieces; ++i) {
    const Result<std::string> made = co_await turns.take(work);
    if (!made) co_return log.push_back(name + " " + std::string(made.error().message));
    EXPECT_EQ(*made, name);
  }
}

Task<void> light(runtime::Runtime& runtime, int steps, Lines& log) {
  for (int i = 0; i < steps; ++i) {
    log.emplace_back("light");
    co_await runtime::yield(runtime);
  }
}

// However many wait for a turn, what is light runs between any two of them; and turns go round.
TEST(Turns, LightWorkRunsBetweenHeavyPieces) {
  runtime::ManualRuntime runtime;
  Turns turns(runtime);
  Lines log;
  {
    runtime::Scope scope(runtime);
    for (const char* name : {"a", "b", "c"}) scope.spawn(heavy(turns, name, 2, log));
    scope.spawn(light(runtime, 100, log));
    runtime.settle();
  }
  Lines order;
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (log[i] == "light") continue;
    order.push_back(log[i]);
    ASSERT_LT(i + 1, log.size());
    EXPECT_EQ(log[i + 1], "light") << "after " << order.size() << " pieces";
  }
  EXPECT_EQ(order, (Lines{"a", "b", "c", "a", "b", "c"}));
}

// Whoever is cancelled while waiting leaves, and the turn of one that is cancelled goes to the
// next.
TEST(Turns, CancelledWaitersLeave) {
  runtime::ManualRuntime runtime;
  Turns turns(runtime);
  Lines log;
  {
    runtime::Scope kept(runtime);
    {
      runtime::Scope leaving(runtime);
      leaving.spawn(heavy(turns, "a", 1000, log));
      leaving.spawn(heavy(turns, "b", 1000, log));
      kept.spawn(heavy(turns, "c", 2, log));
      leaving.cancel();
      runtime.settle();
    }
    runtime.settle();
  }
  EXPECT_EQ(std::ranges::count(log, "c"), 2);
  EXPECT_LE(std::ranges::count(log, "a"), 1);
  EXPECT_EQ(std::ranges::count(log, "b"), 0);
}

}  // namespace
}  // namespace fairlead::apiserver
