// Elector: all that a node decides about virtual IPs together with its peers: leader election,
// settings, assignment and quorum lease as one state machine. Pure: time, messages, the disk's
// answers and the fence's state go in; messages, bytes for the disk, deadlines and orders to close
// the fence come out. The engine carries them out (engine/).
//
//   offer()    what this node could hold          → to the assigner
//   wanted()   what the assigner gave this node   ← from the assigner
//   deadline() until when it may answer           ← from a majority of the peers
//   closing()  what it is to give up: the engine closes the fence, waits the margin, calls closed()
//
// Promises: those of PromiseBook, Tenure and Raft. Besides, an assignment is taken only from the
// leader of the highest term that was seen, and a VIP that was released is claimed again only under
// a higher epoch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "features/vip/election/election.h"
#include "features/vip/election/message.h"
#include "features/vip/election/message_check.h"
#include "features/vip/election/placement.h"
#include "features/vip/election/promise_book.h"
#include "features/vip/election/raft.h"
#include "features/vip/election/soundings.h"
#include "features/vip/election/tenure.h"
#include "features/vip/election/wishes.h"

namespace fairlead::vip {

struct ElectorOptions {
  std::string self;
  std::uint64_t incarnation = 0;  // drawn at start
  std::uint64_t instance = 0;     // of the disk; 0: not told to others
  Raft::Durable durable;
};

class Elector final : public Election {
 public:
  struct Envelope {
    std::string to;
    Message message;
  };

  Elector(ElectorOptions options, Instant now, Raft::Random random);

  void offer(Instant now, std::vector<Offer> offers) override;
  std::uint64_t wish(Instant now, Wish wish) override;
  std::optional<Result<>> take_answer(std::uint64_t number) override {
    return wishes_.take_answer(number);
  }
  bool has_answers() const override { return wishes_.has_answers(); }

  void tick(Instant now) override;
  void receive(Instant now, const std::string& from, const Message& message);
  void closed(Instant now, const Claim& claim) override;

  std::optional<Raft::Write> take_write() { return raft_.take_write(); }
  void written(Instant now, std::uint64_t number);
  void write_failed() { raft_.write_failed(); }

  std::vector<Envelope> take_messages();
  Instant next_tick() const override;

  std::optional<Instant> deadline(const Ip& vip) const override { return tenure_.deadline(vip); }
  std::vector<Claim> wanted() const override { return tenure_.claims(); }
  const std::vector<Claim>& closing() const override { return closing_; }
  // A majority of the members, this node included, was heard within a lease.
  bool hears_majority(Instant now) const override;
  bool is_alive(Instant now, const std::string& name) const;
  const std::string& self() const override { return self_; }
  std::uint64_t incarnation() const override { return incarnation_; }
  const std::map<Ip, Row>& table() const override { return table_; }
  std::string assigner() const override { return raft_.leader(); }
  PlacementView view(Instant now) const override;
  std::uint64_t term() const override { return raft_.term(); }
  std::vector<Participant> participants(Instant now) const override;
  // Why a member is not listened to, or of this node: why the others do not; empty: all is well.
  std::string problem_of(const std::string& member) const;
  void measure(Instant now) override { soundings_.begin(now); }
  std::optional<Sounding> measured(Instant now) override {
    return soundings_.end(now, timing().renew);
  }
  // Somebody who is no member has spoken: it could become one.
  void knocked(Instant now, const std::string& name);
  const Timing& timing() const override { return raft_.latest().settings.timing; }
  Raft& raft() { return raft_; }
  const Raft& raft() const { return raft_; }
  // The message that ends this engine's tenures, for the guard to send: to every peer.
  Message farewell() const {
    return {.incarnation = incarnation_, .released_all = true, .instance = instance_};
  }

 private:
  struct Peer {
    Instant heard{};
    Instant beat{};              // heard last
    std::uint32_t to_offer = 0;  // VIPs, as it said then
    std::uint64_t incarnation = 0;
    std::uint64_t instance = 0;  // of its disk
    std::string problem;         // why it is not listened to
    std::uint64_t gone = 0;      // the incarnation that released everything last
    std::map<Ip, Epoch> seen;    // assignments that it has
    std::map<Ip, Offer> offers;
    std::map<Ip, Instant> healthy_since;
  };

  bool believes(const std::string& from, const Message& message);
  // The members learn each other's disks, one entry of the log for all that are known.
  void learn_disks(Instant now);
  OwnView own_view() const {
    return {.self = self_,
            .instance = instance_,
            .settings = raft_.latest().settings,
            .term = raft_.term()};
  }
  void follow_settings(Instant now);
  void follow_leader(Instant now);
  void beat(Instant now);
  void send_assignments();
  void send_offers();
  void assign(Instant now);
  bool knows_the_holders(Instant now) const;
  void take_offer(Instant now, Peer& peer, const Offer& offer);
  void take_row(Instant now, const Assignment& row);
  void take_beat(Instant now, const std::string& from, const Message& message);
  void released(Instant now, const Ip& vip);
  void tell_wishes(Instant now);
  // Nothing: it is too early to say, the wish is to be told again.
  std::optional<WishAnswer> grant(Instant now, const NumberedWish& wish);
  Result<> move(Instant now, const Ip& vip, const std::string& to);
  Result<> change_members(Instant now, const Wish& wish);
  Message& to(const std::string& peer);

  std::string self_;
  std::uint64_t incarnation_;
  std::uint64_t instance_;
  Raft raft_;
  PromiseBook book_;
  Tenure tenure_;
  Version settings_;       // that book and tenure follow
  std::uint64_t led_ = 0;  // the term in which this node took up assigning
  std::string leader_;     // that the offers were sent to
  Instant led_since_{};
  Instant assigns_from_{};     // or earlier, when all that live have told what they hold
  std::uint32_t counter_ = 0;  // of epochs in this term
  std::map<Ip, Row> table_;
  std::uint64_t table_term_ = 0;  // of the assigner whose rows were taken
  std::map<Ip, Offer> offers_;
  std::map<Ip, std::uint32_t> offers_seen_;
  std::map<Ip, Instant> own_healthy_since_;
  std::map<Ip, std::string> by_hand_;
  Wishes wishes_;
  std::map<std::string, Instant> knocks_;
  Soundings soundings_;
  std::vector<Claim> closing_;
  std::map<Ip, std::string> refused_;  // who was told last that the VIP is promised to another
  std::map<std::string, Peer, std::less<>> peers_;
  Instant beat_due_{};
  Instant last_tick_;
  std::map<std::string, Message> outgoing_;
  std::vector<Envelope> pages_;
};

}  // namespace fairlead::vip
