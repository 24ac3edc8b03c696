#include "tools/bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlead::bench {
namespace {

// Without measurements every figure is zero.
TEST(Histogram, EmptyIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(0.99), Duration(0));
  EXPECT_EQ(histogram.mean(), Duration(0));
}

// Short times are kept to the microsecond.
TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.add(std::chrono::microseconds(i));
  EXPECT_EQ(histogram.percentile(0.5), 50us);
  EXPECT_EQ(histogram.percentile(0.99), 99us);
  EXPECT_EQ(histogram.percentile(1), 100us);
  EXPECT_EQ(histogram.mean(), 50'500ns);
}

// Over nine decades, no percentile is off by 1 % or more from the sorted list's, nor below it.
TEST(Histogram, PercentilesFollowTheSortedList) {
  Histogram histogram;
  std::vector<std::int64_t> values;
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    values.push_back(static_cast<std::int64_t>((state >> 33) >> (state % 31)));
    histogram.add(std::chrono::microseconds(values.back()));
  }
  std::ranges::sort(values);
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const std::size_t rank = static_cast<std::size_t>(share * 20'000);
    const std::int64_t exact = values[rank - 1];
    const std::int64_t measured = histogram.percentile(share) / 1us;
    EXPECT_GE(measured, exact) << share;
    EXPECT_LE(static_cast<double>(measured), static_cast<double>(exact) * 1.01) << share;
  }
}

// What does not fit the scale is still counted, and max is exact.
TEST(Histogram, ExtremesAreKept) {
  Histogram histogram;
  histogram.add(-5ms);
  histogram.add(100h);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.max(), 100h);
  EXPECT_EQ(histogram.percentile(0.5), Duration(0));
  EXPECT_EQ(histogram.percentile(1), 100h);
}

// Two halves merged are the whole.
TEST(Histogram, MergeIsAddition) {
  Histogram left, right, whole;
  for (int i = 0; i < 5'000; ++i) {
    (i % 3 == 0 ? left : right).add(std::chrono::microseconds(i * i));
    whole.add(std::chrono::microseconds(i * i));
  }
  left.merge(right);
  EXPECT_EQ(left.count(), whole.count());
  EXPECT_EQ(left.mean(), whole.mean());
  for (const double share : {0.1, 0.5, 0.99, 1.0})
    EXPECT_EQ(left.percentile(share), whole.percentile(share));
  left.clear();
  EXPECT_EQ(left.count(), 0u);
}

}  // namespace
}  // namespace fairlead::bench
