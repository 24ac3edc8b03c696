#include "foundation/runtime/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace fairlead::runtime {
namespace {

class TestTimer final : public Timer {
 public:
  explicit TestTimer(int the_id = 0) : id(the_id) {}
  void fire() override {}
  int id;
};

Instant at(int n) { return Instant(Duration(n)); }

// Timers come out by deadline, and in order of adding where deadlines are equal.
TEST(TimerHeap, OrderOfDeadlines) {
  TimerHeap heap;
  TestTimer a(1), b(2), c(3), d(4);
  heap.add(a, at(5));
  heap.add(b, at(3));
  heap.add(c, at(5));
  heap.add(d, at(3));
  EXPECT_EQ(heap.next_deadline(), at(3));
  EXPECT_EQ(heap.pop_due(at(2)), nullptr);
  for (TestTimer* expected : {&b, &d, &a, &c}) EXPECT_EQ(heap.pop_due(at(9)), expected);
  EXPECT_EQ(heap.pop_due(at(9)), nullptr);
  EXPECT_EQ(heap.next_deadline(), std::nullopt);
}

// A destroyed timer leaves the heap, and a destroyed heap leaves its timers.
TEST(TimerHeap, EitherMayGoFirst) {
  TestTimer survivor;
  {
    TimerHeap heap;
    heap.add(survivor, at(2));
    {
      TestTimer passing;
      heap.add(passing, at(1));
    }
    EXPECT_EQ(heap.size(), 1U);
    EXPECT_TRUE(survivor.armed());
  }
  EXPECT_FALSE(survivor.armed());
}

// Random adding, removing and popping behaves as a sorted list does.
TEST(TimerHeap, AgreesWithAModel) {
  std::mt19937 random(7);
  TimerHeap heap;
  std::vector<std::unique_ptr<TestTimer>> timers;
  struct Entry {
    int deadline;
    int order;
    TestTimer* timer;
  };
  std::vector<Entry> model;
  const auto first = [&] {
    return std::ranges::min_element(model, [](const Entry& a, const Entry& b) {
      return std::pair(a.deadline, a.order) < std::pair(b.deadline, b.order);
    });
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto choice = random() % 10;
    if (choice < 5) {
      const int deadline = static_cast<int>(random() % 1000);
      timers.push_back(std::make_unique<TestTimer>(step));
      heap.add(*timers.back(), at(deadline));
      model.push_back({deadline, step, timers.back().get()});
    } else if (choice < 8 && !model.empty()) {
      const auto victim = model.begin() + static_cast<std::ptrdiff_t>(random() % model.size());
      heap.remove(*victim->timer);
      EXPECT_FALSE(victim->timer->armed());
      model.erase(victim);
    } else if (!model.empty()) {
      ASSERT_EQ(heap.pop_due(at(1000)), first()->timer);
      model.erase(first());
    }
    ASSERT_EQ(heap.size(), model.size());
    if (!model.empty()) {
      ASSERT_EQ(heap.next_deadline(), at(first()->deadline));
    }
  }
}

}  // namespace
}  // namespace fairlead::runtime
