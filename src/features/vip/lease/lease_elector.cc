#include "features/vip/lease/lease_elector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "features/vip/lease/assignment.h"

namespace fairlead::vip {
namespace {

constexpr int kFasterWhenUnsettled = 8;

}  // namespace

LeaseElector::LeaseElector(LeaseElectorOptions options, Instant now, Random random)
    : options_(std::move(options)),
      random_(std::move(random)),
      renew_due_(now),
      list_due_(now),
      last_tick_(now),
      answered_(now) {}

const Timing& LeaseElector::timing() const {
  return census_.table() ? census_.table()->timing : options_.timing;
}

PlacementView LeaseElector::view(Instant now) const {
  return census_.table() ? placement_view(census_, now) : PlacementView{};
}

std::string LeaseElector::assigner() const {
  return census_.table() ? census_.table()->assigner : std::string();
}

std::optional<Instant> LeaseElector::deadline(const Ip& vip) const {
  const auto held = held_.find(vip);
  return held == held_.end() ? std::nullopt : held->second.deadline;
}

std::vector<Claim> LeaseElector::wanted() const {
  std::vector<Claim> claims;
  for (const auto& [vip, held] : held_) claims.push_back({vip, held.epoch});
  return claims;
}

void LeaseElector::offer(Instant now, std::vector<Offer> offers) {
  std::map<Ip, Offer> offered;
  for (Offer& offer : offers) {
    offer.version = 0;
    offer.withdrawn = false;
    offered[offer.vip] = std::move(offer);
  }
  if (offered == offers_) return;
  offers_ = std::move(offered);
  dirty_ = true;
  follow_table(now);
}

// Answered as soon as it is known to be possible: the store keeps it, whoever assigns.
std::uint64_t LeaseElector::wish(Instant now, Wish wish) {
  answers_[++asked_] =
      wish.kind == Wish::Kind::move
          ? move(now, wish.vip, wish.node)
          : fail(Code::unsupported, "with this back end whoever reaches the store is a member");
  return asked_;
}

std::optional<Result<>> LeaseElector::take_answer(std::uint64_t number) {
  const auto at = answers_.find(number);
  if (at == answers_.end()) return std::nullopt;
  std::optional<Result<>> answer = std::move(at->second);
  answers_.erase(at);
  return answer;
}

std::vector<Participant> LeaseElector::participants(Instant now) const {
  std::vector<Participant> all;
  for (const auto& [name, seen] : census_.nodes())
    if (seen.record)
      all.push_back({.name = name, .address = {}, .alive = seen.is_alive(now), .problem = {}});
  return all;
}

Result<> LeaseElector::move(Instant now, const Ip& vip, const std::string& to) {
  if (!census_.table()) return fail(Code::unavailable, "the store has not shown the table yet");
  const PlacementView known = placement_view(census_, now);
  const auto at = known.nodes.find(to);
  if (at == known.nodes.end()) return fail(Code::not_found, to + " takes no part");
  const auto candidate = at->second.candidates.find(vip);
  if (candidate == at->second.candidates.end())
    return fail(Code::invalid, to + " does not offer " + vip.to_string());
  if (!at->second.alive) return fail(Code::unavailable, to + " is silent");
  if (!candidate->second.healthy) return fail(Code::unavailable, to + " is not healthy");
  wishes_[vip] = to;
  look_ = true;
  hurry_if_unsettled(now);
  return {};
}

void LeaseElector::tick(Instant now) {
  last_tick_ = now;
  if (options_.keep_without_store && away_ && now > answered_ + 2 * timing().renew)
    for (auto& [vip, held] : held_)
      if (held.deadline && now < *held.deadline) held.deadline = now + timing().lease;
  // A fence that could not be closed has closed by itself.
  const std::map<Claim, Instant> ends = ends_by_;
  for (const auto& [claim, end] : ends)
    if (now >= end + timing().margin) closed(now, claim);
  follow_table(now);
}

Instant LeaseElector::next_tick() const {
  Instant due = last_tick_ + timing().renew;
  if (lists_.under_way == 0) due = std::min(due, list_due_);
  if (own_known_ && renewals_.under_way == 0 && !said_farewell_)
    due = std::min(due, std::max(dirty_ ? last_tick_ : renew_due_, renews_from_));
  if (young_until_ > last_tick_) due = std::min(due, young_until_);
  return due;
}

// --- Requests

std::vector<StoreRequest> LeaseElector::take_requests(Instant now) {
  std::vector<StoreRequest> requests;
  if (std::optional<StoreRequest> request = renewal(now)) requests.push_back(std::move(*request));
  if (std::optional<StoreRequest> request = duty(now)) requests.push_back(std::move(*request));
  if (lists_.under_way == 0 && now >= list_due_) {
    lists_.under_way = next_number_++;
    list_due_ = now + timing().renew;
    requests.push_back({.number = lists_.under_way, .put = {}});
  }
  return requests;
}

void LeaseElector::end(Lane& lane) {
  lane.under_way = 0;
  lane.ended_at = next_number_;
}

void LeaseElector::noted(Instant now, const Error* error) {
  away_ = error && error->code != Code::conflict;
  if (!away_) answered_ = now;
}

NodeRecord LeaseElector::own_record() const {
  NodeRecord record{.instance = options_.instance,
                    .incarnation = options_.incarnation,
                    .sequence = sequence_,
                    .table = own_table_,
                    .lease = timing().lease,
                    .barred = barred_,
                    .gone = retired_,
                    .claims = wanted(),
                    .released = {released_.begin(), released_.end()},
                    .offers = {}};
  // What is being closed may still be answered for.
  record.claims.insert(record.claims.end(), closing_.begin(), closing_.end());
  std::ranges::sort(record.claims);
  for (const auto& [vip, offer] : offers_) record.offers.push_back(offer);
  return record;
}

std::optional<StoreRequest> LeaseElector::renewal(Instant now) {
  if (!own_known_ || renewals_.under_way != 0 || said_farewell_) return std::nullopt;
  if (now < renews_from_ || (now < renew_due_ && !dirty_)) return std::nullopt;
  ++sequence_;
  renew_due_ = now + timing().renew;
  dirty_ = false;
  sent_at_ = now;
  sent_ = own_record();
  renewals_.under_way = next_number_++;
  return StoreRequest{.number = renewals_.under_way,
                      .put = RecordPut{.name = record_name(options_.self),
                                       .value = encode(sent_),
                                       .version = own_version_,
                                       .holder = options_.self,
                                       .lease = sent_.lease}};
}

void LeaseElector::renewed(Instant now, const Result<std::string>& version) {
  if (!version) {
    // Conflict: somebody barred this node, or an answer was lost before. Else its fate is not
    // known.
    own_known_ = false;
    dirty_ = true;
    list_due_ = now;
    renews_from_ = now + timing().renew / kFasterWhenUnsettled;
    return;
  }
  own_version_ = *version;
  confirmed_ = sent_.sequence;
  adopted_ = true;
  if (now >= young_until_) problem_.clear();
  if (sent_.gone) said_farewell_ = true;
  for (const Claim& claim : sent_.claims) {
    const auto held = held_.find(claim.vip);
    if (held == held_.end() || held->second.epoch != claim.epoch) continue;
    const Instant until = sent_at_ + sent_.lease;
    if (!held->second.deadline || *held->second.deadline < until) held->second.deadline = until;
  }
  census_.put_node(now, options_.self, sent_, *version);
  look_ = true;
}

std::optional<StoreRequest> LeaseElector::duty(Instant now) {
  if (duties_.under_way != 0 || !look_ || !adopted_ || retired_) return std::nullopt;
  if (now < young_until_ || now < assigns_from_) return std::nullopt;
  look_ = false;
  std::optional<Duty> duty = plan_duty(now);
  if (!duty) return std::nullopt;
  doing_ = std::move(*duty);
  duties_.under_way = next_number_++;
  RecordPut put{.name = std::string(kTableName),
                .value = {},
                .version = census_.table_version(),
                .holder = options_.self,
                .lease = timing().lease};
  if (doing_.barred) {
    put.name = record_name(doing_.node);
    put.value = encode(*doing_.barred);
    put.version = census_.find(doing_.node)->version;
    put.holder = doing_.node;
  } else {
    ++doing_.table->sequence;
    put.value = encode(*doing_.table);
  }
  return StoreRequest{.number = duties_.under_way, .put = std::move(put)};
}

TableRecord LeaseElector::new_table() const {
  TableRecord table{.id = random_() | 1,
                    .term = 1,
                    .assigner = options_.self,
                    .incarnation = options_.incarnation,
                    .timing = options_.timing};
  // For those who look: epochs go on growing, also after a table was deleted.
  for (const auto& [node, seen] : census_.nodes()) {
    if (!seen.record) continue;
    Epoch newest = seen.record->barred;
    for (const Claim& claim : seen.record->claims) newest = std::max(newest, claim.epoch);
    table.term = std::max(table.term, static_cast<std::uint32_t>(newest >> 32) + 1);
  }
  return table;
}

std::optional<Duty> LeaseElector::plan_duty(Instant now) const {
  if (!census_.complete() || census_.unreadable().contains(std::string(kTableName)))
    return std::nullopt;
  if (!census_.table()) return Duty{.node = {}, .barred = {}, .table = new_table()};
  TableRecord table = *census_.table();
  for (const auto& [vip, node] : wishes_) table.by_hand[vip] = node;
  if (table != *census_.table()) return Duty{.node = {}, .barred = {}, .table = std::move(table)};
  if (table.assigner == options_.self && table.incarnation == options_.incarnation)
    return plan_assignment(census_, now);
  if (has_assigner(census_, now)) return std::nullopt;
  ++table.term;
  table.counter = 0;
  table.assigner = options_.self;
  table.incarnation = options_.incarnation;
  return Duty{.node = {}, .barred = {}, .table = std::move(table)};
}

void LeaseElector::duty_done(Instant now, const Result<std::string>& version) {
  if (!version) {  // somebody else wrote it, or it is not known who
    list_due_ = now;
    assigns_from_ = std::max(assigns_from_, now + timing().renew / kFasterWhenUnsettled);
    return;
  }
  if (doing_.barred) {
    census_.put_node(now, doing_.node, *doing_.barred, *version);
  } else {
    // Who starts at the same time is to be heard before everything is given away.
    if (!census_.table()) assigns_from_ = now + 2 * timing().renew;
    census_.put_table(now, *doing_.table, *version);
  }
  look_ = true;
  follow_table(now);
  hurry_if_unsettled(now);
}

// --- Answers

void LeaseElector::stored(Instant now, std::uint64_t number, const Result<std::string>& version) {
  noted(now, version ? nullptr : &version.error());
  if (number == renewals_.under_way) {
    end(renewals_);
    renewed(now, version);
  } else if (number == duties_.under_way) {
    end(duties_);
    duty_done(now, version);
  }
}

void LeaseElector::listed(Instant now, std::uint64_t number,
                          const Result<std::vector<StoredRecord>>& list) {
  if (number != lists_.under_way) return;
  end(lists_);
  noted(now, list ? nullptr : &list.error());
  if (!list) {
    list_due_ = std::max(list_due_, now + timing().renew / kFasterWhenUnsettled);
    return;
  }
  if (!duties_.is_reflected_by(number)) return;  // what this node wrote may not be in it
  const bool shows_own = renewals_.is_reflected_by(number);
  const std::optional<TableRecord> before = census_.table();
  census_.take(now, *list, shows_own ? std::string() : record_name(options_.self));
  if (before && census_.table() && before->id == census_.table()->id &&
      census_.table()->sequence < before->sequence)
    distrust(now, "the table is older than it was");
  if (shows_own) examine_own_record(now);
  look_ = true;
  follow_table(now);
  hurry_if_unsettled(now);
}

// The store was restored, or somebody deleted records. Leases of before may still run.
void LeaseElector::distrust(Instant now, std::string_view why) {
  problem_ = fmt::format(
      "the store went back in time: {}; nothing is held until leases of before have ended", why);
  confirmed_ = 0;
  adopted_ = false;
  forfeit();
  young_until_ = now + promise_length(timing(), timing().lease);
}

// What the store has under this node's name.
void LeaseElector::examine_own_record(Instant now) {
  static const NodeSighting kNone;
  const NodeSighting* found = census_.find(options_.self);
  const NodeSighting& seen = found ? *found : kNone;
  own_version_ = seen.version;
  own_known_ = true;
  if (seen.version.empty()) {
    if (adopted_) distrust(now, "this node's record is gone");
    return forfeit();
  }
  if (!seen.record || (seen.record->instance != options_.instance && seen.record->instance != 0)) {
    problem_ = seen.record ? "another host uses the name " + options_.self
                           : "the record of " + options_.self + " cannot be read";
    own_known_ = now >= seen.barrable_at(timing());
    return forfeit();
  }
  const NodeRecord& record = *seen.record;
  if (adopted_ && (record.incarnation != options_.incarnation || record.sequence < confirmed_))
    distrust(now, "this node's record is older than it was");
  sequence_ = std::max(sequence_, record.sequence);
  if (!adopted_ && own_table_ == 0) {  // of the engine before this one
    own_table_ = record.table;
    barred_ = record.barred;
    released_.insert(record.released.begin(), record.released.end());
  } else if (record.table == own_table_) {
    barred_ = std::max(barred_, record.barred);
  }
}

// Everything that this node was given in this table is somebody else's, as far as it knows.
void LeaseElector::forfeit() {
  if (census_.table()) barred_ = std::max(barred_, census_.table()->newest());
}

// --- What follows from the table

void LeaseElector::give_up(const Ip& vip) {
  const auto held = held_.find(vip);
  const Claim claim{vip, held->second.epoch};
  closing_.push_back(claim);
  ends_by_[claim] = held->second.deadline.value_or(Instant{});
  held_.erase(held);
  dirty_ = true;
}

// Claims of another table come first to their end.
void LeaseElector::join_table() {
  const std::optional<TableRecord>& table = census_.table();
  if (!table || own_table_ == table->id || !held_.empty() || !closing_.empty()) return;
  if (!census_.complete() || !own_known_) return;
  own_table_ = table->id;
  barred_ = table->newest();
  released_.clear();
  dirty_ = true;
}

// What this node is to claim.
std::set<Claim> LeaseElector::due_claims(Instant now) const {
  std::set<Claim> due;
  const std::optional<TableRecord>& table = census_.table();
  if (!table || own_table_ != table->id || now < young_until_ || retired_) return due;
  for (const auto& [vip, row] : table->rows) {
    const Claim claim{vip, row.epoch};
    if (row.node == options_.self && row.epoch > barred_ && !released_.contains(claim) &&
        !ends_by_.contains(claim) && offers_.contains(vip) && !is_to_leave(now, claim))
      due.insert(claim);
  }
  return due;
}

// A VIP that leaves for a better place stays for a renewal interval: by then every node has seen
// the table and looks more often, so that the successor follows soon.
bool LeaseElector::is_to_leave(Instant now, const Claim& claim) const {
  const auto since = leaving_since_.find(claim);
  if (since == leaving_since_.end()) return false;
  const bool holds_well = offers_.at(claim.vip).healthy && held_.contains(claim.vip);
  return !holds_well || now >= since->second + timing().renew;
}

void LeaseElector::see_what_leaves(Instant now) {
  std::map<Claim, Instant> before = std::exchange(leaving_since_, {});
  if (!census_.table()) return;
  for (const auto& [vip, row] : census_.table()->rows) {
    if (!row.leaving || row.node != options_.self) continue;
    const auto known = before.find({vip, row.epoch});
    leaving_since_[{vip, row.epoch}] = known == before.end() ? now : known->second;
  }
}

void LeaseElector::follow_table(Instant now) {
  see_what_leaves(now);
  std::set<Claim> due = due_claims(now);
  for (const Claim& claim : wanted())
    if (!due.contains(claim)) give_up(claim.vip);
  join_table();
  due = due_claims(now);
  for (const Claim& claim : due) {
    if (held_.contains(claim.vip)) continue;
    held_[claim.vip] = {.epoch = claim.epoch, .deadline = {}};
    dirty_ = true;
  }
  release_what_is_not_wanted();
  rows_.clear();
  if (!census_.table()) return;
  std::erase_if(wishes_, [&](const auto& wish) {
    const auto known = census_.table()->by_hand.find(wish.first);
    return known != census_.table()->by_hand.end() && known->second == wish.second;
  });
  for (const auto& [vip, row] : census_.table()->rows)
    rows_[vip] = {.node = row.node, .epoch = row.epoch};
  // Nobody can read a table of before: what has moved on need not be remembered.
  if (own_table_ == census_.table()->id)
    std::erase_if(released_, [&](const Claim& claim) {
      const auto row = rows_.find(claim.vip);
      return row == rows_.end() || row->second.node != options_.self ||
             row->second.epoch != claim.epoch;
    });
}

// What this node was given and does not claim, because it is to leave or is not offered.
void LeaseElector::release_what_is_not_wanted() {
  if (!census_.table() || own_table_ != census_.table()->id) return;
  for (const auto& [vip, row] : census_.table()->rows) {
    const Claim claim{vip, row.epoch};
    if (row.node != options_.self || row.epoch <= barred_ || held_.contains(vip) ||
        ends_by_.contains(claim))
      continue;
    if (released_.insert(claim).second) dirty_ = true;
  }
}

void LeaseElector::closed(Instant now, const Claim& claim) {
  if (std::erase(closing_, claim) == 0) return;
  ends_by_.erase(claim);
  released_.insert(claim);
  dirty_ = true;
  follow_table(now);
}

void LeaseElector::retire() {
  retired_ = true;
  held_.clear();
  closing_.clear();
  ends_by_.clear();
  dirty_ = true;
}

void LeaseElector::hurry_if_unsettled(Instant now) {
  if (is_unsettled(now))
    list_due_ = std::min(list_due_, now + timing().renew / kFasterWhenUnsettled);
}

// Something is on its way that others wait for.
bool LeaseElector::is_unsettled(Instant now) const {
  const std::optional<TableRecord>& table = census_.table();
  if (!table || !own_known_ || !wishes_.empty() || !has_assigner(census_, now)) return true;
  const auto is_overdue = [&](const NodeSighting* seen) {
    return !seen || !seen->record || seen->record->gone ||
           now > seen->since + 2 * table->timing.renew;
  };
  if (is_overdue(census_.find(table->assigner))) return true;
  return std::ranges::any_of(table->rows, [&](const auto& row) {
    const NodeSighting* holder = census_.find(row.second.node);
    return row.second.leaving || is_overdue(holder) ||
           !holder->claims({row.first, row.second.epoch});
  });
}

}  // namespace fairlead::vip
