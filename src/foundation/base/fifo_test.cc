#include "foundation/base/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace fairlead {
namespace {

// Whatever is put in and taken out, in whatever mixture, comes out as from a std::deque.
TEST(Fifo, IsAQueue) {
  std::mt19937 random(7);
  Fifo<int> queue;
  std::deque<int> model;
  for (int i = 0; i < 20'000; ++i) {
    const bool put = random() % 1'000 < (i / 2'000 % 2 == 0 ? 600U : 400U);
    if (put) {
      queue.push_back(i);
      model.push_back(i);
    } else if (!model.empty()) {
      ASSERT_EQ(queue.front(), model.front());
      queue.pop_front();
      model.pop_front();
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
  }
}

// What was taken is not held on to.
TEST(Fifo, LetsGoOfWhatWasTaken) {
  Fifo<std::shared_ptr<int>> queue;
  const auto first = std::make_shared<int>(1);
  queue.push_back(first);
  queue.push_back(std::make_shared<int>(2));
  queue.pop_front();
  EXPECT_EQ(first.use_count(), 1);
  queue.push_back(first);
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(first.use_count(), 1);
}

}  // namespace
}  // namespace fairlead
