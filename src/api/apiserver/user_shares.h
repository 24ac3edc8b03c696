// UserShares: how something limited (seats, bytes) is divided among those who ask for it.
//
// A node, and everybody without credentials together, has a tenth; all nodes four fifths; everyone
// but administrators nine tenths: a stolen credential locks out neither the other nodes nor those
// who would stop it. At least one is left to everybody to try.
#pragma once

#include <cstddef>

#include "api/identity/user.h"
#include "foundation/base/share.h"

namespace fairlead::apiserver {

class UserShares {
 public:
  explicit UserShares(std::size_t all);

  // What one user may have, and of which share that is a part.
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
