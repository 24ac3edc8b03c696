// Patience: exponential back-off with jitter. Pure.
//
// The pause starts at 0.8 s and doubles with every failure up to 30 s; up to as much again is added
// at random, so that the clients of a server that comes back do not all reconnect at once. It is
// reset after two minutes without a failure (client-go's rule), and when a connection held for
// longer than the pause before it: a client that loses a working connection is back quickly, one
// whose connection is dropped at once, again and again, is not.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/runtime/time.h"

namespace fairlead::client {

class Patience {
 public:
  // The pause after a failure at `now` of something that worked since `held_since`; nullopt: it
  // never worked.
  Duration wait(Instant now, std::optional<Instant> held_since, std::uint64_t random);

 private:
  Duration pause_{};  // the next one, without jitter
  Instant last_failure_{};
};

}  // namespace fairlead::client
