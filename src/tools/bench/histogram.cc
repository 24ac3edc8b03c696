#include "tools/bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairlead::bench {

std::size_t Histogram::bucket_of(std::uint64_t microseconds) {
  constexpr std::uint64_t kLinear = std::uint64_t{2} << kSubBits;
  if (microseconds < kLinear) return microseconds;
  const unsigned top = static_cast<unsigned>(std::bit_width(microseconds)) - 1;
  if (top >= kTopBit) return kBuckets - 1;
  const unsigned shift = top - kSubBits;
  return (static_cast<std::size_t>(shift) << kSubBits) + (microseconds >> shift);
}

std::uint64_t Histogram::upper_edge(std::size_t bucket) {
  constexpr std::uint64_t kLinear = std::uint64_t{2} << kSubBits;
  if (bucket < kLinear) return bucket;
  const std::size_t shift = (bucket >> kSubBits) - 1;
  const std::uint64_t mantissa = bucket - (shift << kSubBits);
  return ((mantissa + 1) << shift) - 1;
}

void Histogram::add(Duration value) {
  value = std::max(value, Duration(0));
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(value);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(microseconds.count()))];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() { *this = Histogram(); }

Duration Histogram::mean() const {
  return count_ == 0 ? Duration(0) : sum_ / static_cast<std::int64_t>(count_);
}

Duration Histogram::percentile(double share) const {
  if (count_ == 0) return Duration(0);
  const double exact = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const std::uint64_t rank =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, count_);
  if (rank == count_) return max_;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min<Duration>(max_, std::chrono::microseconds(upper_edge(i)));
  }
  return max_;
}

}  // namespace fairlead::bench
