// LeaseElector: all that a node decides about virtual IPs with the help of a shared store that
// compares and swaps (docs/design/022). Pure: time and the store's answers go in; requests,
// deadlines and orders to close the fence come out. StoreElectorate makes the requests.
//
// Promises: rules 1 to 5 of docs/design/022; from them follows that two nodes never answer for one
// VIP. In particular
//   1. deadline() of a VIP is never later than the lease after the moment before a write of this
//      node's record was sent that claimed the VIP and was confirmed.
//   2. A claim is in this node's record from before its first deadline until closed().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/election/election.h"
#include "features/vip/lease/assignment.h"
#include "features/vip/lease/census.h"

namespace fairlead::vip {

struct LeaseElectorOptions {
  std::string self;
  std::uint64_t instance = 0;       // of this node's disk
  std::uint64_t incarnation = 0;    // drawn at start
  Timing timing;                    // for a table that this node makes; one that is there counts
  bool keep_without_store = false;  // gives up the promise: hold on while the store is away
};

// A request to the store. Its answer goes to listed() or stored(), under its number.
struct StoreRequest {
  std::uint64_t number = 0;
  std::optional<RecordPut> put;  // nothing: list
};

class LeaseElector final : public Election {
 public:
  using Random = std::function<std::uint64_t()>;
  LeaseElector(LeaseElectorOptions options, Instant now, Random random);

  // Election
  void offer(Instant now, std::vector<Offer> offers) override;
  // Moves only: whoever reaches the store takes part.
  std::uint64_t wish(Instant now, Wish wish) override;
  std::optional<Result<>> take_answer(std::uint64_t number) override;
  bool has_answers() const override { return !answers_.empty(); }
  void tick(Instant now) override;
  Instant next_tick() const override;
  void closed(Instant now, const Claim& claim) override;
  std::optional<Instant> deadline(const Ip& vip) const override;
  std::vector<Claim> wanted() const override;
  const std::vector<Claim>& closing() const override { return closing_; }
  bool hears_majority(Instant now) const override { return now < answered_ + timing().lease; }
  const std::string& self() const override { return options_.self; }
  std::uint64_t incarnation() const override { return options_.incarnation; }
  const std::map<Ip, Row>& table() const override { return rows_; }
  std::string assigner() const override;
  PlacementView view(Instant now) const override;
  std::uint64_t term() const override { return census_.table() ? census_.table()->term : 0; }
  std::vector<Participant> participants(Instant now) const override;
  const Timing& timing() const override;

  // The requests to make now; `now` is read before any of them is sent. At most three are under
  // way: a renewal, a list, and a duty of the assigner.
  std::vector<StoreRequest> take_requests(Instant now);
  void listed(Instant now, std::uint64_t number, const Result<std::vector<StoredRecord>>& list);
  void stored(Instant now, std::uint64_t number, const Result<std::string>& version);

  // This node's fences have been closed for the margin: it says so, and does nothing else any more.
  void retire();
  bool has_retired() const { return said_farewell_; }

  // Why this node takes no part at the moment; empty: it does, or is about to.
  const std::string& problem() const { return problem_; }

 private:
  // Requests of one kind: one at a time.
  struct Lane {
    std::uint64_t under_way = 0;  // its number; 0: none
    std::uint64_t ended_at = 0;   // the number that came next when the last one ended

    // What a list shows that was asked for by this number is at least as new as what the lane's
    // requests brought about.
    bool is_reflected_by(std::uint64_t list) const { return under_way == 0 && list >= ended_at; }
  };
  struct Held {
    Epoch epoch = 0;
    std::optional<Instant> deadline;
  };

  Result<> move(Instant now, const Ip& vip, const std::string& to);
  void end(Lane& lane);
  std::optional<StoreRequest> renewal(Instant now);
  std::optional<StoreRequest> duty(Instant now);
  std::optional<Duty> plan_duty(Instant now) const;
  TableRecord new_table() const;
  NodeRecord own_record() const;
  void renewed(Instant now, const Result<std::string>& version);
  void duty_done(Instant now, const Result<std::string>& version);
  void noted(Instant now, const Error* error);

  void examine_own_record(Instant now);
  void forfeit();
  void distrust(Instant now, std::string_view why);
  void follow_table(Instant now);
  void give_up(const Ip& vip);
  void join_table();
  std::set<Claim> due_claims(Instant now) const;
  bool is_to_leave(Instant now, const Claim& claim) const;
  void see_what_leaves(Instant now);
  void release_what_is_not_wanted();
  bool is_unsettled(Instant now) const;
  void hurry_if_unsettled(Instant now);

  LeaseElectorOptions options_;
  Random random_;
  Census census_;
  std::map<Ip, Row> rows_;  // of the table

  std::map<Ip, Offer> offers_;
  std::map<Ip, Held> held_;
  std::vector<Claim> closing_;
  std::map<Claim, Instant> ends_by_;        // of those: the deadline that the fence has
  std::map<Claim, Instant> leaving_since_;  // rows of this node that are to leave
  std::map<Ip, std::string> wishes_;        // moves by hand that are not in the table yet
  std::uint64_t asked_ = 0;                 // how many wishes there were
  std::map<std::uint64_t, Result<>> answers_;

  // This node's record.
  bool own_known_ = false;   // own_version_ is what the store has, as far as is known
  std::string own_version_;  // empty: there is none
  bool adopted_ = false;     // this engine has written it
  std::uint64_t sequence_ = 0, confirmed_ = 0;
  std::uint64_t own_table_ = 0;
  Epoch barred_ = 0;
  std::set<Claim> released_;
  bool dirty_ = true;  // the store should have it soon

  std::uint64_t next_number_ = 1;
  Lane renewals_, lists_, duties_;
  Instant sent_at_{};
  NodeRecord sent_;
  Duty doing_;
  bool look_ = false;  // there may be something for the assigner to do

  Instant renew_due_, list_due_, last_tick_, answered_;
  Instant young_until_{};                   // claims nothing before: the store was restored
  Instant renews_from_{}, assigns_from_{};  // not before
  bool away_ = false;                       // the store did not answer last
  bool retired_ = false, said_farewell_ = false;
  std::string problem_;
};

}  // namespace fairlead::vip
