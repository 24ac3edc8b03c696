#include "features/vip/election/message_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::vip {
namespace {

std::uint64_t term_of(Epoch epoch) { return epoch >> 32; }

// The highest term that anything in the message speaks of.
std::uint64_t highest_term(const Message& message) {
  std::uint64_t highest = message.term;
  const auto see = [&](std::uint64_t term) { highest = std::max(highest, term); };
  if (message.raft) {
    see(message.raft->term);
    see(message.raft->floor);
    see(message.raft->last.term);
    for (const Entry& entry : message.raft->log) see(entry.version.term);
  }
  if (message.beat) {
    see(message.beat->members.term);
    for (const Claim& claim : message.beat->claims) see(term_of(claim.epoch));
  }
  for (const Assignment& row : message.assignments) see(term_of(row.epoch));
  for (const Claim& claim : message.assignments_seen) see(term_of(claim.epoch));
  return highest;
}

}  // namespace

std::string message_problem(const OwnView& own, const std::string& from, const Message& message) {
  const std::uint64_t limit = std::min(own.term + kMostTermsAhead, kLastTerm);
  if (const std::uint64_t term = highest_term(message); term > limit)
    return fmt::format(
        "{} speaks of term {}, too far ahead of this node's {}: its state is damaged; stop it, "
        "remove it from the members, delete its state folder and add it again",
        from, term, own.term);
  if (message.instance == 0) return "";
  for (const Member& member : own.settings.members)
    if (member.name != from && member.instance == message.instance)
      return fmt::format(
          "{} has a copy of the disk of {}: delete the state folder on the machine that is the "
          "copy",
          from, member.name);
  if (from != own.self && message.instance == own.instance)
    return fmt::format("{} has a copy of this node's disk: delete its state folder", from);
  const Member* member = own.settings.find(from);
  if (member && member->instance != 0 && member->instance != message.instance)
    return fmt::format(
        "{0} has another disk than the members know: it was lost, or another machine uses this "
        "name; `fairlead vip member remove {0}`, then `fairlead vip member add {0} {1}`",
        from, member->address);
  return "";
}

std::string own_problem(const OwnView& own) {
  const Member* self = own.settings.find(own.self);
  if (!self || self->instance == 0 || own.instance == 0 || self->instance == own.instance)
    return "";
  return fmt::format(
      "the members know this node by another disk, and do not listen to it: `fairlead vip member "
      "remove {0}` on another node, then `fairlead vip member add {0} {1}`",
      own.self, self->address);
}

}  // namespace fairlead::vip
