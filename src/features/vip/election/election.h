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
#include "features/vip/election/soundings.h"
#include "features/vip/election/timing.h"

namespace fairlead::vip {

// A node that takes part, this one included.
struct Participant {
  std::string name;
  std::string address;  // empty: it has none
  bool alive = false;
  std::string problem;  // why it is not listened to, or of this node: why the others do not
};

class Election {
 public:
  virtual ~Election() = default;

  // What this node could hold from now on: replaces what was offered before. `version` is ignored.
  virtual void offer(Instant now, std::vector<Offer> offers) = 0;
  // By hand, for the assigner, wherever it is; take_answer() of the number that is returned.
  virtual std::uint64_t wish(Instant now, Wish wish) = 0;
  virtual std::optional<Result<>> take_answer(std::uint64_t number) = 0;
  virtual bool has_answers() const = 0;

  virtual void tick(Instant now) = 0;
  // When tick() is due at the latest.
  virtual Instant next_tick() const = 0;
  // The engine has closed the fence for this claim, and the margin has passed.
  virtual void closed(Instant now, const Claim& claim) = 0;

  virtual std::optional<Instant> deadline(const Ip& vip) const = 0;
  virtual std::vector<Claim> wanted() const = 0;
  virtual const std::vector<Claim>& closing() const = 0;

  // Those whose word counts (a majority of the peers, or the store) were heard within a lease.
  virtual bool hears_majority(Instant now) const = 0;

  virtual const std::string& self() const = 0;    // this node
  virtual std::uint64_t incarnation() const = 0;  // of its engine
  // As far as this node knows.
  virtual const std::map<Ip, Row>& table() const = 0;
  virtual std::string assigner() const = 0;  // empty: not known
  // Who could hold what. Of other nodes it has what they told this one: among peers they tell only
  // the assigner, with a store everybody.
  virtual PlacementView view(Instant now) const = 0;
  virtual std::uint64_t term() const = 0;  // of the assigner
  virtual std::vector<Participant> participants(Instant now) const = 0;
  virtual const Timing& timing() const = 0;  // that are in force

  // Notes loss, round trips and pauses from now on, until measured(); nothing: there are no peers
  // to measure.
  virtual void measure(Instant) {}
  virtual std::optional<Sounding> measured(Instant) { return std::nullopt; }

 protected:
  Election() = default;
  Election(const Election&) = default;
  Election(Election&&) = default;
  Election& operator=(const Election&) = default;
  Election& operator=(Election&&) = default;
};

}  // namespace fairlead::vip
