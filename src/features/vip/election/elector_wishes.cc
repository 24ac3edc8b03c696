// What is asked of the assigner by hand: moves and changes of members.
#include <algorithm>
#include <utility>

#include "features/vip/election/elector.h"

namespace fairlead::vip {
namespace {

constexpr Duration kKnockCounts = 10s;  // somebody who wants to be a member is there
constexpr std::size_t kMostKnocks = 32;

}  // namespace

void Elector::knocked(Instant now, const std::string& name) {
  std::erase_if(knocks_, [&](const auto& one) { return now >= one.second + kKnockCounts; });
  if (knocks_.size() < kMostKnocks || knocks_.contains(name)) knocks_[name] = now;
}

Result<> Elector::move(Instant now, const Ip& vip, const std::string& node) {
  const PlacementView known = view(now);
  const auto at = known.nodes.find(node);
  if (at == known.nodes.end()) return fail(Code::not_found, node + " is no member");
  const auto candidate = at->second.candidates.find(vip);
  if (candidate == at->second.candidates.end())
    return fail(Code::invalid, node + " does not offer " + vip.to_string());
  if (!at->second.alive) return fail(Code::unavailable, node + " does not answer");
  if (!candidate->second.healthy) return fail(Code::unavailable, node + " is not healthy");
  by_hand_[vip] = node;
  assign(now);
  return {};
}

Result<> Elector::change_members(Instant now, const Wish& wish) {
  Settings settings = raft_.latest().settings;
  const Member* known = settings.find(wish.node);
  // An answer is a promise: it is given when a majority has it on disk.
  const Result<> committed =
      raft_.settled() ? Result<>{} : fail(Code::unavailable, "the change is not committed yet");
  if (wish.kind == Wish::Kind::add_member) {
    if (known && known->address != wish.address)
      return fail(Code::invalid, wish.node + " is a member already, at " + known->address);
    if (known) return committed;
    if (const auto heard = knocks_.find(wish.node);
        heard == knocks_.end() || now >= heard->second + kKnockCounts)
      return fail(Code::invalid, wish.node +
                                     " is not heard: start its agent first, with the other "
                                     "members in its file");
    settings.members.push_back({.name = wish.node, .address = wish.address});
    std::ranges::sort(settings.members);
  } else {
    if (!known) return committed;
    if (settings.members.size() == 1)
      return fail(Code::invalid, "the last member cannot be removed");
    if (wish.node == self_) {  // another one leads first, and is then told this wish
      for (const auto& [name, peer] : peers_)
        if (is_alive(now, name) && raft_.transfer(now, name))
          return fail(Code::unavailable, "another member is to lead first");
      return fail(Code::unavailable, "no other member answers");
    }
    std::erase_if(settings.members, [&](const Member& one) { return one.name == wish.node; });
  }
  // A list of which no majority answers could never be changed again.
  std::size_t heard = settings.find(self_) ? 1 : 0;
  for (const Member& member : settings.members)
    if (member.name != self_ && (!raft_.latest().settings.find(member.name) ||  // the new one
                                 is_alive(now, member.name)))
      ++heard;
  if (2 * heard <= settings.members.size())
    return fail(Code::invalid,
                "then no majority of the members would be up: start the others first");
  FL_CHECKED(raft_.propose(now, std::move(settings)));
  if (raft_.settled()) return {};
  return fail(Code::unavailable, "the change is not committed yet");
}

std::optional<WishAnswer> Elector::grant(Instant now, const NumberedWish& one) {
  const bool move = one.wish.kind == Wish::Kind::move;
  const Result<> done =
      move ? this->move(now, one.wish.vip, one.wish.node) : change_members(now, one.wish);
  if (!move && !done && done.error().code == Code::unavailable) return std::nullopt;
  return WishAnswer{.number = one.number,
                    .refusal = done ? "" : done.error().message,
                    .unavailable = !done && done.error().code == Code::unavailable};
}

std::uint64_t Elector::wish(Instant now, Wish wish) {
  const std::uint64_t number = wishes_.add(now, std::move(wish));
  tell_wishes(now);
  return number;
}

void Elector::tell_wishes(Instant now) {
  wishes_.give_up(now);
  const std::vector<NumberedWish> open = wishes_.open();
  if (open.empty()) return;
  if (raft_.leads() && led_ == raft_.term()) {
    for (const NumberedWish& one : open)
      if (const std::optional<WishAnswer> answer = grant(now, one)) wishes_.answered(now, *answer);
  } else if (peers_.contains(raft_.leader())) {
    to(raft_.leader()).wishes = open;
  }
}

}  // namespace fairlead::vip
