#include "features/vip/election/raft.h"

#include <fmt/format.h>

#include <utility>

#include "features/vip/election/message_check.h"
#include "foundation/base/check.h"

namespace fairlead::vip {
namespace {

constexpr std::uint64_t kReserve = 1'000;    // terms at a time
constexpr std::uint64_t kReserveWhen = 100;  // so many are left
constexpr std::size_t kLongestLog = 8;

using Kind = RaftMessage::Kind;

bool is_log(const std::vector<Entry>& log) {
  if (log.empty() || log.size() > kLongestLog) return false;
  for (std::size_t i = 1; i < log.size(); ++i) {
    const Version &before = log[i - 1].version, &after = log[i].version;
    if (after.index != before.index + 1 || after.term < before.term) return false;
  }
  return true;
}

// How many members are in one and not, by the same name, in the other.
std::size_t difference(const Settings& one, const Settings& other) {
  std::size_t count = 0;
  for (const Member& member : one.members) count += other.find(member.name) == nullptr;
  for (const Member& member : other.members) count += one.find(member.name) == nullptr;
  return count;
}

}  // namespace

Raft::Raft(std::string self, Durable durable, Instant now, Random random)
    : self_(std::move(self)),
      random_(std::move(random)),
      term_(durable.log.back().version.term),
      floor_(durable.reserved_term),
      reserved_(durable.reserved_term),
      reserved_on_disk_(durable.reserved_term),
      leader_heard_(now - 1h),
      log_(std::move(durable.log)),
      log_on_disk_() {
  CHECK(!log_.empty());
  committed_ = log_.front().version.index;
  log_on_disk_ = log_.back().version;
  reserve();
  follow(now);
}

void Raft::reserve() { reserve_beyond(std::max(term_, floor_)); }

void Raft::reserve_beyond(std::uint64_t term) {
  if (term + kReserveWhen < reserved_) return;
  reserved_ = term + kReserve;
  ++change_number_;
}

void Raft::enter_term(std::uint64_t term) {
  term_ = term;
  voted_for_.clear();
  leader_.clear();
  role_ = Role::follower;
  reserve();
}

void Raft::follow(Instant now) {
  role_ = Role::follower;
  votes_.clear();
  followers_.clear();
  const auto spread = static_cast<std::uint64_t>(election_time().count());
  election_due_ = now + election_time() + Duration(random_() % (spread + 1));
}

void Raft::tick(Instant now) {
  if (role_ == Role::leader) {
    std::size_t heard = is_member(self_) ? 1 : 0;
    for (const auto& [name, follower] : followers_)
      if (is_member(name) && now < follower.heard + election_time()) ++heard;
    if (is_majority(heard)) quorum_heard_ = now;
    if (now >= quorum_heard_ + election_time()) {
      leader_.clear();
      return follow(now);
    }
    if (now >= append_due_) send_appends(now);
    return;
  }
  if (now >= election_due_) ask(now, false);
}

void Raft::disk_lost(const std::string& member) {
  if (const auto follower = followers_.find(member); follower != followers_.end())
    follower->second.on_disk = {};
}

void Raft::leader_gone(Instant now) {
  if (role_ != Role::follower) return;
  leader_.clear();
  // The others are to hear it too before they are asked.
  const Duration pause = append_interval() / 4;
  const auto spread = static_cast<std::uint64_t>(pause.count());
  election_due_ = std::min(election_due_, now + pause + Duration(random_() % (spread + 1)));
}

void Raft::ask(Instant now, bool at_once) {
  follow(now);
  leader_.clear();
  if (!is_member(self_) || term_to_stand_in() > kLastTerm) return;
  if (at_once) return stand(now, term_to_stand_in());
  role_ = Role::asking;
  votes_ = {self_};
  asked_term_ = term_to_stand_in();
  send_all({.kind = Kind::ask_before_vote, .term = asked_term_, .last = log_.back().version});
  count_votes(now);
}

// In which everybody can vote, as far as it is known: those that are dead must not be counted on.
std::uint64_t Raft::term_to_stand_in() const {
  std::uint64_t highest = std::max(term_, floor_);
  for (const Member& member : latest().settings.members)
    if (const auto told = floors_.find(member.name); told != floors_.end())
      highest = std::max(highest, told->second);
  return highest + 1;
}

void Raft::stand(Instant now, std::uint64_t term) {
  enter_term(term);
  follow(now);
  if (!may_vote()) return;  // the disk is still to reserve terms
  role_ = Role::candidate;
  voted_for_ = self_;
  votes_ = {self_};
  send_all({.kind = Kind::ask_vote, .term = term_, .last = log_.back().version});
  count_votes(now);
}

void Raft::count_votes(Instant now) {
  std::size_t count = 0;
  for (const std::string& name : votes_) count += is_member(name);
  if (!is_majority(count)) return;
  if (role_ == Role::asking) {
    stand(now, asked_term_);
  } else if (role_ == Role::candidate) {
    lead(now);
  }
}

void Raft::lead(Instant now) {
  role_ = Role::leader;
  leader_ = self_;
  followers_.clear();
  for (const Member& member : latest().settings.members)
    if (member.name != self_) followers_[member.name] = {.heard = now};
  quorum_heard_ = now;
  change_allowed_ = now + promise_length(latest().settings.timing, latest().settings.timing.lease);
  // What an earlier leader began is decided by an entry of this term. Before the first entry each
  // member has what its own file says: from now on all have what the leader's says.
  if (!settled() || latest().version.index == 0) append(now, latest().settings);
  send_appends(now);
}

void Raft::append(Instant now, Settings settings) {
  const Duration longest = std::max(latest().settings.timing.lease, settings.timing.lease);
  log_.push_back({.version = {term_, latest().version.index + 1}, .settings = std::move(settings)});
  ++change_number_;
  for (const Member& member : latest().settings.members)
    if (member.name != self_) followers_.try_emplace(member.name, Follower{.heard = now});
  change_allowed_ = now + promise_length(latest().settings.timing, longest);
}

Result<> Raft::propose(Instant now, Settings settings) {
  if (role_ != Role::leader) return fail(Code::unavailable, "this node does not lead");
  if (Result<> checked = check(settings.timing); !checked) return checked;
  if (settings.members.empty()) return fail(Code::invalid, "there must be a member");
  if (difference(latest().settings, settings) > 1)
    return fail(Code::invalid, "one member can be added or removed at a time");
  if (!settled()) return fail(Code::unavailable, "an earlier change is not committed yet");
  if (now < change_allowed_)
    return fail(
        Code::unavailable,
        fmt::format("an earlier change or election was less than a lease ago: try again in "
                    "{} ms",
                    std::chrono::ceil<std::chrono::milliseconds>(change_allowed_ - now).count()));
  // The first change of a term needs an entry of this term that is committed under the settings of
  // before: else two changes made on both sides of a cut could have majorities that do not meet.
  if (latest().version.term != term_) {
    append(now, latest().settings);
    send_appends(now);
    advance_commit(now);
    return fail(Code::unavailable, "the leader is confirming its term: try again");
  }
  std::ranges::sort(settings.members);
  append(now, std::move(settings));
  send_appends(now);
  advance_commit(now);
  return {};
}

Result<> Raft::transfer(Instant, const std::string& to) {
  if (role_ != Role::leader) return fail(Code::unavailable, "this node does not lead");
  if (to == self_ || !is_member(to)) return fail(Code::invalid, to + " is no other member");
  send(to, {.kind = Kind::take_over, .term = term_});
  return {};
}

void Raft::send(const std::string& to, RaftMessage message) {
  outgoing_.push_back({to, std::move(message)});
}

void Raft::send_all(const RaftMessage& message) {
  for (const Member& member : latest().settings.members)
    if (member.name != self_) send(member.name, message);
}

void Raft::send_appends(Instant now) {
  append_due_ = now + append_interval();
  for (const auto& [name, follower] : followers_)
    send(name, {.kind = Kind::append,
                .term = term_,
                .last = log_.back().version,
                .committed = committed_,
                .log = follower.on_disk == log_.back().version ? std::vector<Entry>{} : log_});
}

void Raft::receive(Instant now, const std::string& from, const RaftMessage& message) {
  const bool asks_before = message.kind == Kind::ask_before_vote ||
                           message.kind == Kind::answer_before_vote;  // their term is a proposal
  if (message.term > term_ && !asks_before) {
    enter_term(message.term);
    follow(now);
  }
  if (message.floor > 0) floors_[from] = message.floor;
  switch (message.kind) {
    case Kind::ask_before_vote:
    case Kind::ask_vote:
      return on_ask(now, from, message);
    case Kind::answer_before_vote:
    case Kind::answer_vote:
      return on_answer(now, from, message);
    case Kind::append:
      return on_append(now, from, message);
    case Kind::appended:
      return on_appended(now, from, message);
    case Kind::take_over:
      if (message.term == term_ && from == leader_) ask(now, true);
      return;
  }
}

void Raft::on_ask(Instant now, const std::string& from, const RaftMessage& message) {
  // One with a newer log may have become a member without this node's knowing.
  const bool fits = is_member(from) ? is_as_new(message.last) : message.last > log_.back().version;
  if (message.kind == Kind::ask_before_vote && message.term <= term_)  // it must learn the term
    return send(from, {.kind = Kind::answer_vote, .term = term_, .yes = false, .floor = floor_});
  if (message.kind == Kind::ask_before_vote) {
    const bool led = role_ == Role::leader || (!leader_.empty() && hears_leader(now));
    // Of two that ask at once the first by name goes on, or they would split the votes.
    const bool rivals =
        role_ == Role::asking && self_ < from && message.last == log_.back().version;
    if (fits) reserve_beyond(message.term);
    const bool can = message.term > floor_ && message.term <= reserved_on_disk_;
    const bool yes = fits && can && !led && !rivals;
    if (yes && role_ == Role::asking) follow(now);
    return send(
        from,
        {.kind = Kind::answer_before_vote, .term = message.term, .yes = yes, .floor = floor_});
  }
  const bool yes =
      fits && message.term == term_ && may_vote() && (voted_for_.empty() || voted_for_ == from);
  if (yes) {
    voted_for_ = from;
    follow(now);
  }
  send(from, {.kind = Kind::answer_vote, .term = term_, .yes = yes, .floor = floor_});
}

void Raft::on_answer(Instant now, const std::string& from, const RaftMessage& message) {
  const bool before = message.kind == Kind::answer_before_vote;
  if (before ? role_ != Role::asking || message.term != asked_term_
             : role_ != Role::candidate || message.term != term_)
    return;
  if (!message.yes) return;
  votes_.insert(from);
  count_votes(now);
}

void Raft::on_append(Instant now, const std::string& from, const RaftMessage& message) {
  if (message.term < term_)
    return send(from, {.kind = Kind::appended, .term = term_, .floor = floor_});
  if (role_ == Role::leader) return;  // of this term: cannot be, promise 1
  follow(now);
  leader_ = from;
  leader_heard_ = now;
  if (is_log(message.log)) {
    const Version &mine = log_.back().version, &theirs = message.log.back().version;
    // An append that was overtaken by a later one of the same leader has nothing new.
    const bool overtaken = mine.term == message.term && mine.index > theirs.index;
    const bool keeps_committed = theirs.index >= committed_;
    if (!overtaken && keeps_committed && log_ != message.log && mine != theirs) {
      log_ = message.log;
      committed_ = std::max(committed_, log_.front().version.index);
      ++change_number_;
    }
  }
  if (log_.back().version == message.last) commit_up_to(now, message.committed);
  send(from, appended());
}

RaftMessage Raft::appended() const {
  return {.kind = Kind::appended, .term = term_, .last = log_on_disk_, .floor = floor_};
}

void Raft::on_appended(Instant now, const std::string& from, const RaftMessage& message) {
  if (role_ != Role::leader || message.term != term_) return;
  const auto follower = followers_.find(from);
  if (follower == followers_.end()) return;
  follower->second.heard = now;
  follower->second.on_disk = message.last;
  advance_commit(now);
}

void Raft::advance_commit(Instant now) {
  if (role_ != Role::leader || settled() || latest().version.term != term_) return;
  std::size_t count = is_member(self_) && log_on_disk_ == latest().version ? 1 : 0;
  std::size_t alive = is_member(self_) ? 1 : 0, able = alive;  // to acknowledge in this term
  for (const auto& [name, follower] : followers_) {
    if (!is_member(name)) continue;
    const bool can = floors_[name] < term_;
    if (can && follower.on_disk == latest().version) ++count;
    if (now >= follower.heard + election_time()) continue;
    ++alive;
    if (can) ++able;
  }
  // Too many have been started anew since this term began: it can commit nothing any more.
  if (is_majority(alive) && !is_majority(able)) return stand(now, term_to_stand_in());
  if (!is_majority(count)) return;
  const Duration longest =
      std::max(log_.front().settings.timing.lease, latest().settings.timing.lease);
  change_allowed_ = now + promise_length(latest().settings.timing, longest);
  commit_up_to(now, latest().version.index);
  std::erase_if(followers_, [this](const auto& each) { return !is_member(each.first); });
  send_appends(now);
  if (!is_member(self_)) {
    leader_.clear();
    follow(now);
  }
}

void Raft::commit_up_to(Instant, std::uint64_t index) {
  if (index <= committed_) return;
  committed_ = std::min(index, log_.back().version.index);
  std::erase_if(log_, [this](const Entry& entry) { return entry.version.index < committed_; });
  ++change_number_;
}

std::optional<Raft::Write> Raft::take_write() {
  if (in_write_ || change_number_ == write_number_) return std::nullopt;
  write_number_ = change_number_;
  in_write_ = Durable{.reserved_term = reserved_, .log = log_};
  return Write{.number = write_number_, .durable = *in_write_};
}

void Raft::written(Instant now, std::uint64_t number) {
  if (!in_write_ || number != write_number_) return;
  reserved_on_disk_ = in_write_->reserved_term;
  log_on_disk_ = in_write_->log.back().version;
  in_write_.reset();
  if (role_ == Role::leader) return advance_commit(now);
  if (!leader_.empty() && log_on_disk_ == log_.back().version) send(leader_, appended());
}

std::vector<Raft::Envelope> Raft::take_messages() { return std::exchange(outgoing_, {}); }

Instant Raft::next_tick() const { return role_ == Role::leader ? append_due_ : election_due_; }

}  // namespace fairlead::vip
