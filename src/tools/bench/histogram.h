// Counts of durations in buckets whose width grows with the value: percentiles of any number of
// measurements in fixed memory, with an error below 1 %. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "foundation/runtime/time.h"

namespace fairlead::bench {

class Histogram {
 public:
  void add(Duration value);
  void merge(const Histogram& other);
  void clear();

  std::uint64_t count() const { return count_; }
  Duration max() const { return max_; }
  Duration mean() const;
  // The value that `share` (0 … 1) of all measurements do not exceed: the upper edge of its bucket,
  // never above max(). Zero without measurements.
  Duration percentile(double share) const;

 private:
  // Values below 2^(kSubBits + 1) microseconds have a bucket each; above, every power of two is cut
  // into 2^kSubBits buckets. The last bucket holds everything from about 19 hours on.
  static constexpr unsigned kSubBits = 7;
  static constexpr unsigned kTopBit = 36;
  static constexpr std::size_t kBuckets = (kTopBit - kSubBits + 1) << kSubBits;
  static std::size_t bucket_of(std::uint64_t microseconds);
  static std::uint64_t upper_edge(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  Duration sum_{0};
  Duration max_{0};
};

}  // namespace fairlead::bench
