// Placement: which node should hold which virtual IP. A pure function of what the assigner knows;
// the assigner calls it at every tick and whenever an offer or a holder changed.
//
//   kept      a VIP stays where it is while its holder lives and is no worse than the others
//   placed    a VIP without a living holder goes to the best candidate at once
//   improved  with `preempt`, a VIP goes to a better candidate that has been well for
//   `preempt_delay`;
//             one move at a time, so that a node that comes back does not draw everything at once;
//             all at once if their holder is sick
//
// Better is, in this order: healthy, not together with a VIP it is to be apart from, asked for by
// hand, preferred, higher priority, fewer VIPs. VIPs of one group are placed as one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "features/vip/election/claim.h"

namespace fairlead::vip {

struct VipOptions {
  std::string group;      // those of one group are on one node; empty: none
  std::string apart;      // those of one name here are on different nodes if possible; empty: none
  std::string preferred;  // node; empty: none
  bool preempt = true;
  Duration preempt_delay = 10s;
  auto operator<=>(const VipOptions&) const = default;
};

// A node's offer to hold a VIP.
struct Candidate {
  int priority = 100;
  bool healthy = true;
  Instant healthy_since{};  // on the assigner's clock
};

struct NodeView {
  bool alive = true;
  std::map<Ip, Candidate> candidates;
};

struct Row {
  std::string node;  // empty: nobody
  Epoch epoch = 0;
};

struct PlacementView {
  std::map<Ip, VipOptions> vips;
  std::map<std::string, NodeView> nodes;
  std::map<Ip, Row> table;
  std::map<Ip, std::string> by_hand;  // `fairlead vip move`
};

struct Move {
  Ip vip;
  std::string to;
  std::string why;
  auto operator<=>(const Move&) const = default;
};

// The moves that are to be made now.
std::vector<Move> place(const PlacementView& view, Instant now);

}  // namespace fairlead::vip
