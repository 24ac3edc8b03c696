// PromiseBook: a peer's side of the quorum lease (docs/design/020): to whom it has granted which
// VIP, and until when it grants it to nobody else. The safety of virtual IPs rests on this class,
// on Tenure and on majorities that intersect. Pure: time is passed in and never goes back.
//
// Promises
//   1. Between a grant of a VIP to one claimant and a grant to another, promise_length() passes,
//      unless the first has released it or everything (release(), release_all()).
//   2. Nothing is granted before promise_length() of the longest lease has passed since the book
//      was begun: what an earlier book of this peer promised has ended by then.
//   3. Epochs granted for a VIP never go down.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "features/vip/election/claim.h"
#include "features/vip/election/timing.h"

namespace fairlead::vip {

class PromiseBook {
 public:
  // `timing` is what the members agreed on; its lease is the longest that is granted.
  PromiseBook(const Timing& timing, Instant begun);

  // The members agreed on other times. What was promised under the old ones is kept.
  void set_timing(const Timing& timing, Instant now);

  Verdict claim(Instant now, const Claimant& who, Duration lease, const Claim& claim);

  // The claimant has closed its fence for this VIP and waited the margin. A claim of the same epoch
  // that was sent before and arrives later is refused.
  void release(const Claimant& who, const Claim& claim);
  // The claimant has ended, its fence is closed and the margin has passed.
  void release_all(const Claimant& who);

  // The assigner gave the VIP to somebody else under this epoch: older ones are not renewed.
  void supersede(const Ip& vip, Epoch epoch);

  // When the promise for the VIP ends; nothing: nobody has one.
  std::optional<Instant> promised_until(const Ip& vip) const;

 private:
  struct Promise {
    Claimant to;
    Instant until{};
    Epoch granted = 0;
    Epoch newest = 0;  // the highest that was granted or superseded by
  };

  Timing timing_;
  Instant grants_from_;
  std::map<Ip, Promise> promises_;
};

}  // namespace fairlead::vip
