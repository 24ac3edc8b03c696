// Election: what a node decides about virtual IPs together with others, as the engine sees it. Two
// implementations, both pure: Elector (peers and a quorum lease) and LeaseElector (a shared store).
// How they reach the others is the Electorate's business (engine/electorate.h).
//
//   offer()    what this node could hold
//   wanted()   what it was given
//   deadline() until when it may answer
//   closing()  what it is to give up: the engine closes the fence, waits the margin, calls closed()
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/election/message.h"
#include "features/vip/election/placement.h"
#include "features/vip/election/timing.h"

namespace fairlead::vip {

class Election {
 public:
  virtual ~Election() = default;

  // What this node could hold from now on: replaces what was offered before. `version` is ignored.
  virtual void offer(Instant now, std::vector<Offer> offers) = 0;
  // By hand. Fails if the node cannot hold it, or if this one cannot arrange it.
  virtual Result<> move(Instant now, const Ip& vip, const std::string& to) = 0;

  virtual void tick(Instant now) = 0;
  // When tick() is due at the latest.
  virtual Instant next_tick() const = 0;
  // The engine has closed the fence for this claim, and the margin has passed.
  virtual void closed(Instant now, const Claim& claim) = 0;

  virtual std::optional<Instant> deadline(const Ip& vip) const = 0;
  virtual std::vector<Claim> wanted() const = 0;
  virtual const std::vector<Claim>& closing() const = 0;

  // As far as this node knows.
  virtual const std::map<Ip, Row>& table() const = 0;
  virtual std::string assigner() const = 0;  // empty: not known
  virtual const Timing& timing() const = 0;  // that are in force

 protected:
  Election() = default;
  Election(const Election&) = default;
  Election(Election&&) = default;
  Election& operator=(const Election&) = default;
  Election& operator=(Election&&) = default;
};

}  // namespace fairlead::vip
