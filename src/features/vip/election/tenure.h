// Tenure: a holder's side of the quorum lease (docs/design/020): from the heartbeats it sent and
// the peers' verdicts, until when it may answer for each VIP. Pure.
//
//   beat()       reads the time, then the heartbeat is sealed and sent
//   answered()   a peer's verdicts on one heartbeat
//   deadline()   sent time of the newest heartbeat in which a majority granted the VIP, plus lease
//
// Promise: deadline() of a VIP is never later than the lease after the moment before a heartbeat
// was sent in whose claim a majority of the members agrees. It never counts from an answer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "features/vip/election/claim.h"
#include "features/vip/election/settings.h"

namespace fairlead::vip {

// Who votes, and the version of the settings that say so.
struct Members {
  Version version;
  std::set<std::string, std::less<>> voters;
};

struct Beat {
  std::uint64_t sequence = 0;
  Version members;  // of the list that the sender counts by
  Duration lease{};
  std::vector<Claim> claims;
  bool more = false;         // further pages follow
  std::uint32_t offers = 0;  // that the sender makes: VIPs
  auto operator<=>(const Beat&) const = default;
};

class Tenure {
 public:
  // `first` is drawn for each run of the engine, so that an answer to an earlier one counts for
  // nothing.
  explicit Tenure(Duration lease, std::uint64_t first = 0) : lease_(lease), sequence_(first) {}

  // For heartbeats from now on.
  void set_lease(Duration lease) { lease_ = lease; }
  // Whose grants count for heartbeats from now on. Grants for earlier ones count by the list of
  // when they were sent.
  void set_members(Members members) {
    members_ = std::make_shared<const Members>(std::move(members));
  }

  // What to claim: VIP and epoch. A VIP that is no longer wanted has no deadline from now on.
  void want(const Claim& claim);
  void give_up(const Ip& vip);
  std::vector<Claim> claims() const;

  // The next heartbeat, in pages of so many claims, at least one; `now` is read before anything of
  // it is sealed or sent.
  std::vector<Beat> beat(Instant now, std::size_t page = 64);

  // `verdicts` are in the order of the heartbeat's claims. Answers of strangers, to heartbeats that
  // are too old, or of the wrong length are ignored.
  void answered(const std::string& peer, std::uint64_t sequence,
                const std::vector<Verdict>& verdicts);

  // Until when this node may answer for the VIP; nothing: it may not, or not yet.
  std::optional<Instant> deadline(const Ip& vip) const;

 private:
  struct Sent {
    std::uint64_t sequence = 0;
    Instant at{};
    Duration lease{};
    std::shared_ptr<const Members> members;
    std::vector<Claim> claims;
    std::vector<std::set<std::string, std::less<>>> granted;  // for each claim, by which voters
  };
  struct Held {
    Epoch epoch = 0;
    std::optional<Instant> deadline;
  };
  Duration lease_;
  std::shared_ptr<const Members> members_ = std::make_shared<Members>();
  std::uint64_t sequence_;
  std::deque<Sent> sent_;  // those that may still be answered in time
  std::map<Ip, Held> held_;
};

}  // namespace fairlead::vip
