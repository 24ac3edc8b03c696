// Conflicts: what to make of the claims of others (gratuitous ARP, advertisements) to a VIP that
// this host holds: they are counted, told of, and answered by announcing the VIP anew, but not more
// often than at intervals (RFC 5227, section 2.4), so that two that quarrel do not flood the
// network. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "features/vip/fence/fence.h"

namespace fairlead::vip {

class Conflicts {
 public:
  explicit Conflicts(Duration interval) : interval_(interval) {}

  // The claims so far were no conflict: the VIP was another's until now.
  void begin(const Sighting& seen);
  // Whether to defend the VIP now. `own`: the claimant is this host itself, whose frames came back.
  bool defends(Instant now, const Sighting& seen, bool own);

  std::uint64_t count() const { return count_; }
  const std::optional<Mac>& rival() const { return rival_; }

 private:
  Duration interval_;
  std::uint64_t seen_ = 0;  // of all claims
  std::uint64_t count_ = 0;
  std::optional<Mac> rival_;
  std::optional<Instant> defended_;
  bool open_ = false;  // a claim that was not answered yet
};

}  // namespace fairlead::vip
