// A rate limit with a burst: `burst` at once, refilled by `per_second`. Pure; `now` is a parameter.
#pragma once

#include <algorithm>
#include <chrono>

#include "foundation/runtime/time.h"

namespace fairlead::http {

class TokenBucket {
 public:
  TokenBucket(double burst, double per_second, Instant now)
      : burst_(burst), per_second_(per_second), level_(burst), filled_at_(now) {}

  bool take(Instant now, double amount = 1) {
    const std::chrono::duration<double> passed = now - filled_at_;
    filled_at_ = now;
    level_ = std::min(burst_, level_ + passed.count() * per_second_);
    if (level_ < amount) return false;
    level_ -= amount;
    return true;
  }
  // What was taken for nothing.
  void give_back(double amount) { level_ = std::min(burst_, level_ + amount); }

 private:
  double burst_;
  double per_second_;
  double level_;
  Instant filled_at_;
};

}  // namespace fairlead::http
