// Patience: how long to wait before something that failed is tried again. Pure.
//
// From 0.8 s the wait doubles with every failure, up to 30 s, and up to as much again by chance, so
// that the many clients of a server that comes back do not come all at once. Failures are
// forgiven after two minutes without one (client-go's rule), and as soon as what was tried has held
// for longer than the wait before it: who had a server for a while and loses it comes back quickly,
// who is thrown out at once again and again does not.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/runtime/time.h"

namespace fairlead::client {

class Patience {
 public:
  // The wait after a failure `now` of what had worked since `held_since`; nullopt: it never did.
  Duration wait(Instant now, std::optional<Instant> held_since, std::uint64_t random);

 private:
  Duration pause_{};  // the next, without chance
  Instant last_failure_{};
};

}  // namespace fairlead::client
