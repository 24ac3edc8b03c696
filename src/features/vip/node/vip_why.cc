#include "features/vip/node/vip_why.h"

#include <algorithm>
#include <iterator>

namespace fairlead::vip {
namespace {

std::size_t heard(const Report& report) {
  return 1 + static_cast<std::size_t>(std::ranges::count_if(report.peers, &PeerReport::alive));
}

// Why nobody holds it, as far as this node can see.
agent::Missing no_holder(const VipFacts& facts) {
  const Report& report = facts.report;
  agent::Missing missing{.what = "a holder", .why = {}, .remedy = {}, .since = facts.vip->since};
  if (facts.backend != "raft" &&
      report.leader.empty()) {  // those in the store may be gone for good
    missing.why = "no node assigns virtual IPs, as far as this one can read in " + facts.backend;
    missing.remedy = "see whether this node reaches the store";
  } else if (facts.backend == "raft" && 2 * heard(report) <= report.members.size()) {
    missing.why = "this node hears " + std::to_string(heard(report)) + " of " +
                  std::to_string(report.members.size()) +
                  " members, itself included: no majority, nobody may answer";
    missing.remedy = "start the others, or mend the network between them";
  } else if (report.leader.empty()) {
    missing.why = "no member leads the election yet";
  } else {
    missing.why = "the assigner, " + report.leader + ", has found no node that could hold it";
    missing.remedy = "ask the same on the other nodes";
  }
  return missing;
}

// Why this node is not the holder.
std::vector<std::string> why_not_here(const VipFacts& facts) {
  std::vector<std::string> notes;
  const VipReport& vip = *facts.vip;
  if (vip.interface.empty()) {
    notes.push_back("node " + facts.node + " does not offer it: its configuration has no such VIP");
    return notes;
  }
  if (!vip.problem.empty())
    notes.push_back("node " + facts.node + " cannot hold it: " + vip.problem);
  for (const std::string& gate : facts.sick_gates)
    notes.push_back("node " + facts.node + " is not healthy: " + gate);
  if (notes.empty())
    notes.push_back("node " + facts.node +
                    " could hold it, and is the next in line or as good as the holder");
  return notes;
}

// Why one of the other nodes is not the holder, as far as this node knows; empty: it does not know.
std::string why_not(const VipFacts& facts, const std::string& other) {
  const auto peer = std::ranges::find(facts.report.peers, other, &PeerReport::name);
  if (peer != facts.report.peers.end() && !peer->alive)
    return "node " + other + " is not heard by this node";
  if (const auto told = facts.told_by_others.find(other); told != facts.told_by_others.end())
    return "node " + other + " says: " + told->second;
  if (!facts.report.knows_others) return {};
  const auto offer = std::ranges::find(facts.vip->others, other, &OfferReport::node);
  if (offer == facts.vip->others.end())
    return "node " + other +
           " does not offer it: its configuration has no such VIP, or it cannot " +
           "be fenced there";
  if (!offer->healthy) return "node " + other + " offers it and is not healthy: ask the same there";
  return "node " + other + " could hold it, with priority " + std::to_string(offer->priority);
}

std::vector<std::string> why_not_the_others(const VipFacts& facts) {
  std::vector<std::string> notes;
  bool all_known = true;
  for (const MemberOrder& member : facts.report.members) {
    if (member.name == facts.node || member.name == facts.vip->holder) continue;
    std::string why = why_not(facts, member.name);
    if (why.empty())
      all_known = false;
    else
      notes.push_back(std::move(why));
  }
  if (!all_known && !facts.report.leader.empty())
    notes.push_back("what the others offer is told to the assigner: ask the same on node " +
                    facts.report.leader);
  return notes;
}

Result<std::string> check_name(std::string_view text) {
  const auto address = Ip::parse(text);
  if (!address) return fail(Code::invalid, "must be an address: " + address.error().message);
  return address->to_string();
}

}  // namespace

agent::Explanation explain_vip(const VipFacts& facts, const Ip& address) {
  agent::Explanation told{.subject = "virtual IP " + address.to_string(),
                          .witness = "the agent of node " + facts.node};
  told.wanted = "exactly one healthy member of the election holds it";
  if (!facts.engine_runs || !facts.vip) {
    told.actual = "nothing is known of it";
    told.missing.push_back(
        {.what = "the engine of this node",
         .why = facts.engine_problem.empty() ? "it does not run (yet)" : facts.engine_problem,
         .remedy = "see the agent's log",
         .since = {}});
    return told;
  }
  const VipReport& vip = *facts.vip;
  told.since = vip.since;
  const bool holder_lives = std::ranges::none_of(facts.report.peers, [&](const PeerReport& peer) {
    return peer.name == vip.holder && !peer.alive;
  });
  told.fulfilled = vip.holder != facts.node ? !vip.holder.empty() && holder_lives : vip.here;
  if (vip.holder.empty()) {
    told.actual = "nobody holds it";
    told.missing.push_back(no_holder(facts));
  } else if (vip.here) {
    told.actual = "held by " + vip.holder + ", this node, on " + vip.interface + ", epoch " +
                  std::to_string(vip.epoch);
  } else if (vip.holder == facts.node && !vip.problem.empty()) {
    told.actual = "this node is to hold it, and cannot";
    told.missing.push_back({.what = "a place for it on this node",
                            .why = vip.problem,
                            .remedy = {},
                            .since = vip.since});
  } else if (vip.holder == facts.node) {
    told.actual = "this node is to hold it, and may not answer yet";
    const bool raft = facts.backend == "raft";
    told.missing.push_back({.what = raft ? "the grant of a majority" : "a renewal in the store",
                            .why = raft ? "the peers have not granted it: the last holder's lease "
                                          "may still run, or they are not heard"
                                        : "the store has not confirmed its claim yet",
                            .remedy = {},
                            .since = vip.since});
  } else if (!holder_lives) {
    told.actual = "it was given to " + vip.holder + ", which does not answer";
    told.missing.push_back({.what = "a holder that answers",
                            .why = vip.holder + " is not heard: another node takes it when its "
                                                "lease has run out",
                            .remedy = {},
                            .since = vip.since});
  } else {
    told.actual = "held by " + vip.holder + ", epoch " + std::to_string(vip.epoch);
  }
  if (!vip.here && vip.holder != facts.node) told.notes = why_not_here(facts);
  std::ranges::move(why_not_the_others(facts), std::back_inserter(told.notes));
  if (vip.conflicts > 0)
    told.notes.push_back("another machine claims it, too: " + vip.rival + ", " +
                         std::to_string(vip.conflicts) + " times");
  if (vip.put_back > 0)
    told.notes.push_back("somebody removed its address from this node " +
                         std::to_string(vip.put_back) + " times");
  if (!facts.report.leader.empty())
    told.notes.push_back("the assigner is " + facts.report.leader + ", term " +
                         std::to_string(facts.report.term));
  return told;
}

std::string announce_name(Announce announce) {
  switch (announce) {
    case Announce::l2:
      return "l2";
    case Announce::bgp:
      return "bgp";
    case Announce::route:
      return "route";
    case Announce::external:
      return "external";
  }
  return "";
}

agent::Explanation explain_unelected(const UnelectedFacts& facts) {
  agent::Explanation told{.subject = "virtual IP " + facts.entry.vip.address.to_string(),
                          .witness = "the agent of node " + facts.node};
  const bool external = facts.entry.announce == Announce::external;
  told.fulfilled = external ? facts.sick_gates.empty() : facts.announced;
  if (external) {
    told.wanted = "a load balancer of the operator's has it; its health gates are well";
    told.actual = told.fulfilled ? "the health gates are well" : "a health gate is not well";
    told.notes.push_back(std::string("what was checked: ") + kExternalChecked);
  } else {
    told.wanted = "every healthy node announces it (anycast): nobody is elected";
    told.actual =
        facts.announced ? "announced by this node, on " + facts.entry.vip.interface : "not announced by this node";
    told.notes.push_back("what other nodes do is not known here");
  }
  for (const std::string& gate : facts.sick_gates)
    told.missing.push_back({.what = "health", .why = gate, .remedy = {}, .since = {}});
  if (!facts.problem.empty())
    told.missing.push_back(
        {.what = "the announcement", .why = facts.problem, .remedy = {}, .since = {}});
  return told;
}

agent::WhyKind vip_why_kind() {
  return {.name = "vip", .name_help = "its address", .check = check_name, .ask_api = nullptr};
}

}  // namespace fairlead::vip
