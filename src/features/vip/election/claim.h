// What holders and peers tell each other about virtual IPs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "foundation/base/ip.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

// The number of an assignment of a VIP to a node: higher is later. The assigner's term is in the
// high half, so that two assigners never give the same one.
using Epoch = std::uint64_t;
constexpr Epoch make_epoch(std::uint32_t term, std::uint32_t counter) {
  return static_cast<Epoch>(term) << 32 | counter;
}

// One run of the engine of a node: drawn at its start.
struct Claimant {
  std::string node;
  std::uint64_t incarnation = 0;
  auto operator<=>(const Claimant&) const = default;
};

// "I am to hold this."
struct Claim {
  Ip vip;
  Epoch epoch = 0;
  auto operator<=>(const Claim&) const = default;
};

// A peer's answer to a claim.
struct Verdict {
  enum class Kind : std::uint8_t {
    granted,
    promised,    // to another claimant, for `wait` from now
    superseded,  // the VIP was assigned anew, as `epoch`
    young,       // the peer may have forgotten promises, for `wait` from now
    lease,       // longer than the members agreed on
    members,     // the claimant counts by an older list of members than the peer knows
  };
  Kind kind = Kind::granted;
  Duration wait{};
  Epoch epoch = 0;

  bool granted() const { return kind == Kind::granted; }
  auto operator<=>(const Verdict&) const = default;
};

}  // namespace fairlead::vip
