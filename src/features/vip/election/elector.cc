#include "features/vip/election/elector.h"

#include <algorithm>
#include <utility>

namespace fairlead::vip {
namespace {

constexpr std::size_t kPage = 32;         // rows or offers in one message
constexpr std::size_t kMostVips = 1'024;  // that are known of: more than a fence has places

}  // namespace

Elector::Elector(ElectorOptions options, Instant now, Raft::Random random)
    : self_(std::move(options.self)),
      incarnation_(options.incarnation),
      instance_(options.instance),
      raft_(self_, std::move(options.durable), now, std::move(random)),
      book_(raft_.latest().settings.timing, now),
      tenure_(raft_.latest().settings.timing.lease, incarnation_ >> 16),
      last_tick_(now) {
  follow_settings(now);
}

void Elector::follow_settings(Instant now) {
  const Entry& latest = raft_.latest();
  Members members{.version = latest.version, .voters = {}};
  for (const Member& member : latest.settings.members) {
    members.voters.insert(member.name);
    if (member.name != self_) peers_.try_emplace(member.name);
  }
  std::erase_if(peers_, [&](const auto& peer) { return !members.voters.contains(peer.first); });
  settings_ = latest.version;
  book_.set_timing(latest.settings.timing, now);
  tenure_.set_lease(latest.settings.timing.lease);
  tenure_.set_members(std::move(members));
}

// After everything that may have changed it.
void Elector::follow_leader(Instant now) {
  if (settings_ != raft_.latest().version) follow_settings(now);
  if (leader_ != raft_.leader()) {
    leader_ = raft_.leader();
    offers_seen_.clear();
    send_offers();
    beat_due_ = now;  // it is told what this node holds
  }
  if (!raft_.leads() || led_ == raft_.term()) return;
  led_ = table_term_ = raft_.term();
  counter_ = 0;
  for (auto& [name, peer] : peers_) peer.seen.clear();
  // What the holders claim is heard first: a renewal interval, and as much for what is late.
  led_since_ = now;
  assigns_from_ = now + 2 * timing().renew;
}

Message& Elector::to(const std::string& peer) {
  Message& message = outgoing_[peer];
  message.incarnation = incarnation_;
  return message;
}

std::vector<Elector::Envelope> Elector::take_messages() {
  std::vector<Envelope> all = std::exchange(pages_, {});
  for (auto& [peer, message] : std::exchange(outgoing_, {}))
    all.push_back({peer, std::move(message)});
  for (Raft::Envelope& envelope : raft_.take_messages())
    all.push_back(
        {envelope.to, {.incarnation = incarnation_, .raft = std::move(envelope.message)}});
  for (Envelope& envelope : all) envelope.message.instance = instance_;
  return all;
}

void Elector::offer(Instant now, std::vector<Offer> offers) {
  std::map<Ip, Offer> before = std::exchange(offers_, {});
  for (Offer& offer : offers) {
    const auto old = before.find(offer.vip);
    offer.version = old == before.end() ? 1 : old->second.version;
    if (old != before.end() && old->second != offer) ++offer.version;
    const bool was_healthy = old != before.end() && !old->second.withdrawn && old->second.healthy;
    if (!was_healthy) own_healthy_since_[offer.vip] = now;
    offers_[offer.vip] = std::move(offer);
  }
  for (auto& [vip, old] : before) {
    if (offers_.contains(vip)) continue;
    if (!old.withdrawn) ++old.version;
    old.withdrawn = true;
    offers_[vip] = old;
    for (const Claim& claim : tenure_.claims())
      if (claim.vip == vip) closing_.push_back(claim);
    tenure_.give_up(vip);
  }
  send_offers();
  assign(now);
}

void Elector::send_offers() {
  if (leader_.empty() || leader_ == self_) return;
  std::vector<Offer> news;
  for (const auto& [vip, offer] : offers_) {
    const auto seen = offers_seen_.find(vip);
    if (seen != offers_seen_.end() && seen->second == offer.version) continue;
    news.push_back(offer);
    if (news.size() < kPage) continue;
    pages_.push_back({leader_, {.incarnation = incarnation_, .offers = std::exchange(news, {})}});
  }
  if (!news.empty()) to(leader_).offers = std::move(news);
}

void Elector::send_assignments() {
  if (!raft_.leads()) return;
  for (auto& [name, peer] : peers_) {
    std::vector<Assignment> news;
    const auto flush = [&] {
      pages_.push_back({name,
                        {.incarnation = incarnation_,
                         .assignments = std::exchange(news, {}),
                         .term = raft_.term()}});
    };
    for (const auto& [vip, row] : table_) {
      const auto seen = peer.seen.find(vip);
      if (seen != peer.seen.end() && seen->second == row.epoch) continue;
      news.push_back({vip, row.node, row.epoch});
      if (news.size() == kPage) flush();
    }
    if (!news.empty()) flush();
  }
}

bool Elector::is_alive(Instant now, const std::string& name) const {
  if (name == self_) return true;
  const auto peer = peers_.find(name);
  // A little before its lease can have ended: the successor waits for the promises anyway.
  return peer != peers_.end() && peer->second.incarnation != peer->second.gone &&
         now < peer->second.heard + timing().lease * 4 / 5;
}

PlacementView Elector::view(Instant now) const {
  PlacementView view{.vips = {}, .nodes = {}, .table = table_, .by_hand = by_hand_};
  const auto add = [&](const std::string& name, const std::map<Ip, Offer>& offers,
                       const std::map<Ip, Instant>& since) {
    NodeView& node = view.nodes[name];
    node.alive = is_alive(now, name);
    for (const auto& [vip, offer] : offers) {
      if (offer.withdrawn) continue;
      view.vips.try_emplace(vip, offer.options);
      const auto at = since.find(vip);
      node.candidates[vip] = {.priority = offer.priority,
                              .healthy = offer.healthy,
                              .healthy_since = at == since.end() ? Instant{} : at->second};
    }
  };
  for (const Member& member : raft_.latest().settings.members) {
    if (member.name == self_) {
      add(self_, offers_, own_healthy_since_);
    } else if (const auto peer = peers_.find(member.name); peer != peers_.end()) {
      add(member.name, peer->second.offers, peer->second.healthy_since);
    }
  }
  return view;
}

bool Elector::knows_the_holders(Instant now) const {
  return now >= assigns_from_ || std::ranges::all_of(peers_, [&](const auto& peer) {
           const Peer& one = peer.second;
           const bool told = one.beat >= led_since_ && one.offers.size() >= one.to_offer;
           return told || (one.incarnation != 0 && one.incarnation == one.gone);
         });
}

void Elector::assign(Instant now) {
  if (!raft_.leads() || led_ != raft_.term() || !knows_the_holders(now)) return;
  const PlacementView known = view(now);
  std::vector<Assignment> rows;
  const auto next = [this] {
    return make_epoch(static_cast<std::uint32_t>(raft_.term()), ++counter_);
  };
  for (const Move& move : place(known, now)) {
    rows.push_back({move.vip, move.to, next()});
    // A node that failed is not asked for any more.
    if (const auto hand = by_hand_.find(move.vip);
        hand != by_hand_.end() && hand->second != move.to)
      by_hand_.erase(hand);
  }
  for (const auto& [vip, row] : table_)  // nobody offers it any more
    if (!row.node.empty() && !known.vips.contains(vip)) rows.push_back({vip, {}, next()});
  for (const Assignment& row : rows) take_row(now, row);
  if (!rows.empty()) send_assignments();
}

bool Elector::hears_majority(Instant now) const {
  std::size_t heard = 1;
  for (const auto& [name, peer] : peers_)
    if (now < peer.heard + timing().lease) ++heard;
  return 2 * heard > raft_.latest().settings.members.size();
}

std::string Elector::problem_of(const std::string& member) const {
  if (member == self_) return own_problem(own_view());
  const auto peer = peers_.find(member);
  return peer == peers_.end() ? "" : peer->second.problem;
}

std::vector<Participant> Elector::participants(Instant now) const {
  std::vector<Participant> all;
  for (const Member& member : raft_.latest().settings.members)
    all.push_back({.name = member.name,
                   .address = member.address,
                   .alive = is_alive(now, member.name),
                   .problem = problem_of(member.name)});
  return all;
}

void Elector::take_row(Instant now, const Assignment& row) {
  if (!table_.contains(row.vip) && table_.size() >= kMostVips) return;
  Row& known = table_[row.vip];
  if (row.epoch <= known.epoch) return;
  known = {.node = row.node, .epoch = row.epoch};
  book_.supersede(row.vip, row.epoch);
  std::vector<Claim> held = tenure_.claims();
  const auto mine = std::ranges::find(held, row.vip, &Claim::vip);
  if (row.node == self_) {
    std::erase_if(closing_, [&](const Claim& claim) { return claim.vip == row.vip; });
    tenure_.want({row.vip, row.epoch});
    beat_due_ = now;
  } else if (mine != held.end()) {
    closing_.push_back(*mine);
    tenure_.give_up(row.vip);
  }
}

void Elector::beat(Instant now) {
  beat_due_ = now + timing().renew;
  for (Beat& page : tenure_.beat(now)) {
    page.offers = static_cast<std::uint32_t>(offers_.size());
    for (const auto& [name, peer] : peers_) {
      pages_.push_back({name, {.incarnation = incarnation_, .beat = page}});
      soundings_.sent(now, page.sequence, name);
    }
    std::vector<Verdict> own;
    for (const Claim& claim : page.claims)
      own.push_back(book_.claim(now, {self_, incarnation_}, page.lease, claim));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].kind == Verdict::Kind::promised) refused_[page.claims[i].vip] = self_;
      if (own[i].wait > Duration::zero()) beat_due_ = std::min(beat_due_, now + own[i].wait);
    }
    tenure_.answered(self_, page.sequence, own);
  }
}

// Whoever was refused because of the promise claims again at once.
void Elector::released(Instant now, const Ip& vip) {
  const auto refused = refused_.find(vip);
  if (refused == refused_.end()) return;
  if (refused->second == self_) {
    beat_due_ = now;
  } else if (peers_.contains(refused->second)) {
    to(refused->second).claim_again = true;
  }
  refused_.erase(refused);
}

void Elector::closed(Instant now, const Claim& claim) {
  if (std::erase(closing_, claim) == 0) return;
  book_.release({self_, incarnation_}, claim);
  released(now, claim.vip);
  for (const auto& [name, peer] : peers_) {
    if (to(name).released.size() >= kPage)
      pages_.push_back({name, std::exchange(outgoing_[name], {})});
    to(name).released.push_back(claim);
  }
}

bool Elector::believes(const std::string& from, const Message& message) {
  const std::string problem = message_problem(own_view(), from, message);
  if (const auto peer = peers_.find(from); peer != peers_.end()) {
    peer->second.problem = problem;
    if (problem.empty() && message.instance != 0) peer->second.instance = message.instance;
  }
  if (!problem.empty()) raft_.disk_lost(from);  // it learns that it is not listened to
  return problem.empty();
}

void Elector::learn_disks(Instant now) {
  if (!raft_.leads() || !raft_.settled()) return;
  Settings settings = raft_.latest().settings;
  for (Member& member : settings.members) {
    if (member.instance != 0) continue;
    const auto peer = peers_.find(member.name);
    if (member.name == self_) member.instance = instance_;
    if (peer != peers_.end() && is_alive(now, member.name)) member.instance = peer->second.instance;
  }
  if (settings != raft_.latest().settings)
    (void)raft_.propose(now, std::move(settings));  // or later
}

void Elector::tick(Instant now) {
  soundings_.woke(next_tick(), now);
  // This node was stopped: what it did not hear meanwhile says nothing about the others.
  const Duration pause = now - last_tick_;
  if (pause > 4 * timing().renew)
    for (auto& [name, peer] : peers_) peer.heard = std::min(now, peer.heard + pause);
  last_tick_ = now;
  if (now >= raft_.next_tick()) raft_.tick(now);
  follow_leader(now);
  assign(now);
  if (now >= beat_due_) {
    learn_disks(now);
    follow_leader(now);
    beat(now);
    send_offers();
    send_assignments();
    tell_wishes(now);
  }
}

Instant Elector::next_tick() const {
  Instant due = std::min(raft_.next_tick(), beat_due_);
  if (raft_.leads()) due = std::min(due, last_tick_ + timing().renew);
  return due;
}

void Elector::written(Instant now, std::uint64_t number) {
  raft_.written(now, number);
  follow_leader(now);
}

void Elector::take_beat(Instant now, const std::string& from, const Message& message) {
  const Beat& beat = *message.beat;
  if (!beat.more) peers_.at(from).beat = now;
  peers_.at(from).to_offer = beat.offers;
  BeatAnswer answer{.sequence = beat.sequence, .verdicts = {}};
  const bool stale_members = beat.members < raft_.latest().version;
  for (const Claim& claim : beat.claims) {
    if (!table_.contains(claim.vip) && table_.size() >= kMostVips) {
      answer.verdicts.push_back({.kind = Verdict::Kind::superseded, .epoch = claim.epoch});
      continue;
    }
    if (raft_.leads())  // a claim of a row that an earlier assigner made
      take_row(now, {.vip = claim.vip, .node = from, .epoch = claim.epoch});
    const Verdict verdict = stale_members
                                ? Verdict{.kind = Verdict::Kind::members}
                                : book_.claim(now, {from, message.incarnation}, beat.lease, claim);
    if (verdict.kind == Verdict::Kind::promised) refused_[claim.vip] = from;
    answer.verdicts.push_back(verdict);
  }
  pages_.push_back({from, {.incarnation = incarnation_, .answer = std::move(answer)}});
}

void Elector::take_offer(Instant now, Peer& peer, const Offer& offer) {
  const auto old = peer.offers.find(offer.vip);
  if (old == peer.offers.end() && peer.offers.size() >= kMostVips) return;
  if (old != peer.offers.end() && old->second.version > offer.version) return;
  const bool was_healthy =
      old != peer.offers.end() && !old->second.withdrawn && old->second.healthy;
  if (!was_healthy && offer.healthy) peer.healthy_since[offer.vip] = now;
  peer.offers[offer.vip] = offer;
}

void Elector::receive(Instant now, const std::string& from, const Message& message) {
  if (!believes(from, message)) return;
  if (const auto gone = peers_.find(from);
      gone != peers_.end() && !message.released_all && message.incarnation == gone->second.gone)
    return;  // sent before it ended
  // Who led and was begun anew leads no more, also where its farewell was lost.
  if (const auto known = peers_.find(from);
      known != peers_.end() && known->second.incarnation != 0 &&
      known->second.incarnation != message.incarnation && from == raft_.leader())
    raft_.leader_gone(now);
  if (message.raft) {
    raft_.receive(now, from, *message.raft);
    follow_leader(now);
  }
  const auto at = peers_.find(from);
  if (at == peers_.end()) return knocked(now, from);
  Peer& peer = at->second;
  if (message.released_all) {
    book_.release_all({from, message.incarnation});
    peer.gone = message.incarnation;
    if (from == raft_.leader()) raft_.leader_gone(now);
    while (!refused_.empty()) released(now, refused_.begin()->first);
    return assign(now);
  }
  if (peer.incarnation != message.incarnation) {
    peer.incarnation = message.incarnation;
    peer.seen.clear();
    peer.offers.clear();
    send_assignments();  // what is its own it may claim again at once
  }
  peer.heard = now;
  for (const Claim& claim : message.released) {
    book_.release({from, message.incarnation}, claim);
    released(now, claim.vip);
  }
  if (message.claim_again) beat_due_ = now;
  if (message.beat) take_beat(now, from, message);
  if (message.beat && now < assigns_from_) assign(now);
  if (message.answer) {
    soundings_.answered(now, message.answer->sequence, from);
    tenure_.answered(from, message.answer->sequence, message.answer->verdicts);
    for (const Verdict& verdict : message.answer->verdicts)
      if (verdict.kind == Verdict::Kind::promised || verdict.kind == Verdict::Kind::young)
        beat_due_ = std::min(beat_due_, now + verdict.wait);
  }
  if (!message.assignments.empty() && message.term >= table_term_ && !raft_.leads()) {
    table_term_ = message.term;
    for (const Assignment& row : message.assignments) {
      take_row(now, row);
      to(from).assignments_seen.push_back({row.vip, table_[row.vip].epoch});
    }
  }
  for (const Claim& seen : message.assignments_seen) {
    peer.seen[seen.vip] = seen.epoch;
    // It knows a later row than this assigner, of one that is gone: the VIP is given anew.
    if (raft_.leads() && table_.contains(seen.vip))
      take_row(now, {.vip = seen.vip, .node = {}, .epoch = seen.epoch});
  }
  for (const Offer& offer : message.offers) {
    take_offer(now, peer, offer);
    to(from).offers_seen.push_back({offer.vip, offer.version});
  }
  for (const OfferSeen& seen : message.offers_seen)
    if (from == leader_) offers_seen_[seen.vip] = seen.version;
  if (raft_.leads() && led_ == raft_.term())
    for (const NumberedWish& one : message.wishes)
      if (std::optional<WishAnswer> answer = grant(now, one))
        to(from).wish_answers.push_back(std::move(*answer));
  for (const WishAnswer& answer : message.wish_answers) wishes_.answered(now, answer);
  if (!message.offers.empty()) assign(now);  // else at the next tick
}

}  // namespace fairlead::vip
