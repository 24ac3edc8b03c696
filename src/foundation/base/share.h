// Share: a part of something limited (bytes, seats), which may itself be part of a larger share.
// Lease: what one holder has taken of a share, given back when the holder goes.
//
// Taking is all or nothing along the whole chain, so that a user is bounded by their own share, by
// that of everyone like them, and by the whole at once. Plain numbers: no clock, no waiting, one
// loop. A share must outlive its leases and the shares that are part of it.
#pragma once

#include <cstddef>
#include <utility>

namespace fairlead {

class Share {
 public:
  explicit Share(std::size_t most, Share* whole = nullptr) : most_(most), whole_(whole) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  // False when there is no room, here or above; nothing was taken then.
  bool take(std::size_t amount) {
    for (const Share* share = this; share; share = share->whole_)
      if (amount > share->most_ - share->taken_) return false;
    for (Share* share = this; share; share = share->whole_) share->taken_ += amount;
    return true;
  }
  // REQUIRES: it was taken here.
  void give_back(std::size_t amount) {
    for (Share* share = this; share; share = share->whole_) share->taken_ -= amount;
  }

  std::size_t taken() const { return taken_; }
  std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  std::size_t taken_ = 0;
  Share* const whole_;
};

class Lease {
 public:
  explicit Lease(Share& share) : share_(&share) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { release(); }

  // Holds `amount` from now on. False when that is more than there is room for; nothing changes
  // then.
  bool resize(std::size_t amount) {
    if (amount > held_ && !share_->take(amount - held_)) return false;
    if (amount < held_) share_->give_back(held_ - amount);
    held_ = amount;
    return true;
  }
  // The same amount from another share. False when there is no room in it; nothing changes then.
  bool move_to(Share& other) {
    if (&other == share_) return true;
    if (!other.take(held_)) return false;
    share_->give_back(held_);
    share_ = &other;
    return true;
  }
  void release() { share_->give_back(std::exchange(held_, 0)); }
  std::size_t held() const { return held_; }

 private:
  Share* share_;
  std::size_t held_ = 0;
};

}  // namespace fairlead
