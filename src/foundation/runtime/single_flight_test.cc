#include "foundation/runtime/single_flight.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foundation/runtime/manual_runtime.h"

namespace fairlead::runtime {
namespace {

// Calls that end when the test says so.
struct SingleFlightTest : testing::Test {
  ManualRuntime runtime;
  int begun = 0;
  Signal end;
  Result<int> outcome = 7;
  std::vector<std::string> told;
  SingleFlight<std::string, int> flight{runtime};
  Scope callers{runtime};

  Task<Result<int>> call() {
    ++begun;
    FL_CO_CHECKED(co_await end.wait());
    co_return outcome;
  }
  Task<void> caller(std::string key) {
    const auto make = [this] { return call(); };
    const Result<int> answer = co_await flight.ask(key, make);
    told.push_back(key + "=" + (answer ? std::to_string(*answer) : answer.error().message));
  }
  void ask(const std::string& key) {
    callers.spawn(caller(key));
    runtime.settle();
  }
  void finish(Result<int> with) {
    outcome = std::move(with);
    end.notify();
    runtime.settle();
  }
};

// Equal questions at the same time are one call; others are calls of their own.
TEST_F(SingleFlightTest, EqualQuestionsShareACall) {
  for (const char* key : {"a", "a", "b", "a"}) ask(key);
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(flight.size(), 2u);
  EXPECT_TRUE(flight.under_way("a"));
  finish(7);
  EXPECT_EQ(told.size(), 4u);
  EXPECT_EQ(flight.size(), 0u);
}

// An answer is not kept: whoever asks later asks again.
TEST_F(SingleFlightTest, AnAnswerIsNotKept) {
  ask("a");
  finish(1);
  ask("a");
  EXPECT_EQ(begun, 2);
  finish(2);
  EXPECT_EQ(told, (std::vector<std::string>{"a=1", "a=2"}));
}

// A failure is everybody's.
TEST_F(SingleFlightTest, AFailureIsShared) {
  ask("a");
  ask("a");
  finish(fail(Code::unavailable, "away"));
  EXPECT_EQ(told, (std::vector<std::string>{"a=away", "a=away"}));
}

// Whoever began a call and gives up does not end it for those who joined.
TEST_F(SingleFlightTest, ACallOutlivesItsFirstCaller) {
  std::optional<Scope> first(std::in_place, runtime);
  first->spawn(caller("a"));
  runtime.settle();
  ask("a");
  first->cancel();
  runtime.settle();
  EXPECT_EQ(told, (std::vector<std::string>{"a=cancelled"}));
  finish(7);
  EXPECT_EQ(told, (std::vector<std::string>{"a=cancelled", "a=7"}));
  EXPECT_EQ(begun, 1);
}

// A SingleFlight that goes takes its calls along.
TEST(SingleFlight, ItsCallsGoWithIt) {
  ManualRuntime runtime;
  Signal never;
  const auto waits = [](Signal& signal) -> Task<Result<int>> {
    FL_CO_CHECKED(co_await signal.wait());
    co_return 1;
  };
  const auto caller = [](SingleFlight<int, int>& flight, Signal& signal, auto make) -> Task<void> {
    const auto call = [&signal, make] { return make(signal); };
    (void)co_await flight.ask(1, call);
  };
  Scope callers(runtime);
  {
    SingleFlight<int, int> flight(runtime);
    callers.spawn(caller(flight, never, waits));
    runtime.settle();
    EXPECT_EQ(flight.size(), 1u);
  }
  never.notify();
  runtime.settle();
  EXPECT_EQ(callers.size(), 1u);  // it waits until it is cancelled
  callers.cancel();
  runtime.settle();
  EXPECT_EQ(callers.size(), 0u);
}

}  // namespace
}  // namespace fairlead::runtime
