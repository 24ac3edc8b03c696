// Seats: bounds the requests of one kind (reads, writes, watches) that are under way, in all and by
// user (user_shares.h). Runs on one loop.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "api/apiserver/user_shares.h"
#include "api/identity/user.h"
#include "foundation/base/key_map.h"
#include "foundation/base/share.h"

namespace fairlead::apiserver {

// One seat, held as long as this lives. Empty: none was free, or the request needs none.
class Seat {
 public:
  Seat() = default;
  explicit Seat(Share* share) : share_(share) {}
  Seat(Seat&& other) noexcept : share_(std::exchange(other.share_, nullptr)) {}
  Seat& operator=(Seat&& other) noexcept {
    std::swap(share_, other.share_);
    return *this;
  }
  ~Seat() {
    if (share_) share_->give_back(1);
  }
  explicit operator bool() const { return share_ != nullptr; }

 private:
  Share* share_ = nullptr;
};

class Seats {
 public:
  explicit Seats(std::size_t all) : shares_(all) {}

  // A seat for a request of `user`; empty when all, or the user's share, are taken. Must not
  // outlive this.
  Seat take(const identity::User& user);

  std::size_t taken() const { return shares_.all().taken(); }
  bool full() const { return taken() >= shares_.all().most(); }

 private:
  Share& share_of(const identity::User& user);
  void forget_idle_users();

  UserShares shares_;
  KeyMap<Share> users_;
};

}  // namespace fairlead::apiserver
