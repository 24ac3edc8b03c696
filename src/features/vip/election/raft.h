// Raft: elects the assigner among the members and replicates their settings. Pure: time, messages
// and the disk's answers go in; messages, bytes for the disk and the next timer come out.
//
// It is raft with what this use makes simpler:
//   - Every entry holds all settings, so the log is the last committed entry and what follows it,
//     and every append carries all of that.
//   - Settings change rarely, assignments of virtual IPs are not in the log (docs/design/020). A
//     leader acts from the moment it is elected; only a change of settings waits for disks.
//   - Terms are reserved on disk a thousand at a time. A peer votes only in reserved terms, and
//     after a restart only in terms beyond those that were reserved before (its floor): no vote
//     waits for a disk, and none is given twice. Up to its floor it follows leaders, but what it
//     acknowledges does not count for a commit; candidates, and leaders that want to change the
//     settings, choose terms beyond the floors that they were told.
// And with pre-vote (a peer that was cut off does not disturb the others), a leader that steps down
// when it has not heard a majority for the election time, and transfer of leadership.
//
// Promises
//   1. There is at most one leader in a term.
//   2. A committed entry is in the log of every later leader.
//   3. Between the commit of a change of settings and the next one, and between the election of a
//      leader and its first one, promise_length() passes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "features/vip/election/settings.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

struct RaftMessage {
  enum class Kind : std::uint8_t {
    ask_before_vote,  // would you vote for me in this term?
    ask_vote,
    answer_before_vote,
    answer_vote,
    append,     // I lead in this term; my log and what is committed of it
    appended,   // my log is on disk up to `last`
    take_over,  // stand for election at once: the leader hands over
  };
  Kind kind = Kind::append;
  std::uint64_t term = 0;
  Version last;                 // of the sender's log; of `appended`: what is on disk
  bool yes = false;             // of answers
  std::uint64_t committed = 0;  // index; of `append`
  std::vector<Entry> log;       // of `append`
  std::uint64_t floor = 0;      // of answers and `appended`: the sender votes beyond this term
  auto operator<=>(const RaftMessage&) const = default;
};

class Raft {
 public:
  // What must survive a restart.
  struct Durable {
    std::uint64_t reserved_term = 0;
    std::vector<Entry> log;  // first the last committed one; never empty
    auto operator<=>(const Durable&) const = default;
  };
  struct Envelope {
    std::string to;
    RaftMessage message;
  };
  struct Write {
    std::uint64_t number = 0;
    Durable durable;
  };
  using Random = std::function<std::uint64_t()>;

  Raft(std::string self, Durable durable, Instant now, Random random);

  void tick(Instant now);
  // From an authenticated member, or one that was (its appends may bring the news that it is
  // again).
  void receive(Instant now, const std::string& from, const RaftMessage& message);

  // Bytes for the disk, if there is news; written() when they are there. One write at a time.
  std::optional<Write> take_write();
  void written(Instant now, std::uint64_t number);
  void write_failed() { in_write_.reset(), write_number_ = 0; }  // it is to be tried again

  // What this member acknowledged is lost: it is sent everything again.
  void disk_lost(const std::string& member);
  // The leader has ended, and said so: a successor need not wait for the election time.
  void leader_gone(Instant now);

  std::vector<Envelope> take_messages();
  // When tick() is due at the latest.
  Instant next_tick() const;

  // Changes the settings by at most one member. Fails if this node does not lead, or with
  // unavailable and the time to wait if it is too early.
  Result<> propose(Instant now, Settings settings);
  // Asks `to` to stand for election. Fails if this node does not lead or `to` is no other member.
  Result<> transfer(Instant now, const std::string& to);

  bool leads() const { return role_ == Role::leader; }
  const std::string& leader() const { return leader_; }  // empty: not known
  std::uint64_t term() const { return term_; }
  const Entry& latest() const { return log_.back(); }  // in force for counting, committed or not
  bool settled() const { return log_.back().version.index <= committed_; }  // latest() is committed
  const Entry& committed() const { return log_.front(); }

 private:
  enum class Role { follower, asking, candidate, leader };
  struct Follower {
    Version on_disk;
    Instant heard{};
  };

  bool is_member(const std::string& name) const { return latest().settings.find(name) != nullptr; }
  bool is_majority(std::size_t count) const { return 2 * count > latest().settings.members.size(); }
  Duration election_time() const { return latest().settings.timing.lease / 2; }
  Duration append_interval() const { return latest().settings.timing.renew; }
  bool may_vote() const { return term_ > floor_ && term_ <= reserved_on_disk_; }
  bool hears_leader(Instant now) const { return now < leader_heard_ + election_time(); }
  bool is_as_new(const Version& theirs) const { return theirs >= log_.back().version; }

  void enter_term(std::uint64_t term);
  void follow(Instant now);
  void ask(Instant now, bool at_once);
  std::uint64_t term_to_stand_in() const;
  void stand(Instant now, std::uint64_t term);
  void lead(Instant now);
  void count_votes(Instant now);
  void send(const std::string& to, RaftMessage message);
  void send_all(const RaftMessage& message);
  void send_appends(Instant now);
  void reserve();
  void reserve_beyond(std::uint64_t term);
  void append(Instant now, Settings settings);
  void advance_commit(Instant now);
  void commit_up_to(Instant now, std::uint64_t index);

  RaftMessage appended() const;
  void on_ask(Instant now, const std::string& from, const RaftMessage& message);
  void on_answer(Instant now, const std::string& from, const RaftMessage& message);
  void on_append(Instant now, const std::string& from, const RaftMessage& message);
  void on_appended(Instant now, const std::string& from, const RaftMessage& message);

  std::string self_;
  Random random_;
  Role role_ = Role::follower;
  std::uint64_t term_;
  std::uint64_t floor_;             // terms up to this one may have been voted in before a restart
  std::uint64_t reserved_;          // wanted on disk
  std::uint64_t reserved_on_disk_;  // is there
  std::uint64_t asked_term_ = 0;    // that was proposed before standing
  std::string voted_for_;           // in term_
  std::string leader_;
  Instant leader_heard_;
  Instant election_due_;
  Instant append_due_{};
  std::vector<Entry> log_;
  std::uint64_t committed_;
  Version log_on_disk_;
  std::uint64_t change_number_ = 1, write_number_ = 0;  // of what is durable; of the last write
  std::set<std::string, std::less<>> votes_;
  std::map<std::string, std::uint64_t, std::less<>> floors_;  // of the peers, as they said
  // Of a leader:
  std::map<std::string, Follower, std::less<>> followers_;
  Instant quorum_heard_{};
  Instant change_allowed_{};
  std::vector<Envelope> outgoing_;
  std::optional<Durable> in_write_;
};

}  // namespace fairlead::vip
