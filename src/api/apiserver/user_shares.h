// UserShares: how a limited resource (seats, bytes) is divided among users.
//
// At most a tenth goes to one node, a tenth to all anonymous users together, four fifths to all
// nodes, and nine tenths to everybody but administrators. So a stolen node credential locks out
// neither the other nodes nor the administrator who revokes it. Every share is at least one.
#pragma once

#include <cstddef>

#include "api/identity/user.h"
#include "foundation/base/share.h"

namespace fairlead::apiserver {

class UserShares {
 public:
  explicit UserShares(std::size_t all);

  // The share of one user, a part of the larger ones.
  struct Part {
    std::size_t most;
    Share* whole;
  };
  Part part_of(const identity::Roles& roles);

  Share& all() { return all_; }
  const Share& all() const { return all_; }

 private:
  Share all_;
  Share others_;  // all but administrators
  Share nodes_;
};

}  // namespace fairlead::apiserver
