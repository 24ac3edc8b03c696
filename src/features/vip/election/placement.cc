#include "features/vip/election/placement.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace fairlead::vip {
namespace {

// VIPs that move together: a group, or one VIP by itself.
struct Unit {
  std::vector<Ip> vips;
  VipOptions options;  // of its first VIP
};

std::vector<Unit> units_of(const PlacementView& view) {
  std::map<std::string, Unit> groups;
  std::vector<Unit> units;
  for (const auto& [vip, options] : view.vips) {
    if (options.group.empty()) {
      units.push_back({{vip}, options});
      continue;
    }
    Unit& unit = groups.try_emplace(options.group, Unit{{}, options}).first->second;
    unit.vips.push_back(vip);
  }
  for (auto& [name, unit] : groups) units.push_back(std::move(unit));
  return units;
}

class Placer {
 public:
  Placer(const PlacementView& view, Instant now) : view_(view), now_(now), units_(units_of(view)) {
    for (const Unit& unit : units_)
      if (const std::string holder = holder_of(unit); !holder.empty()) hold(unit, holder);
  }

  std::vector<Move> moves() {
    for (const Unit& unit : units_)
      if (holder_of(unit).empty()) place(unit);
    if (moves_.empty()) improve();
    return std::move(moves_);
  }

 private:
  // The node that lives and has all of the unit; empty: there is none.
  std::string holder_of(const Unit& unit) const {
    std::string holder;
    for (const Ip& vip : unit.vips) {
      const auto row = view_.table.find(vip);
      if (row == view_.table.end() || row->second.node.empty()) return {};
      if (!holder.empty() && holder != row->second.node) return {};
      holder = row->second.node;
    }
    return can_hold(unit, holder) ? holder : std::string();
  }
  bool can_hold(const Unit& unit, const std::string& name) const {
    const auto node = view_.nodes.find(name);
    return node != view_.nodes.end() && node->second.alive &&
           std::ranges::all_of(
               unit.vips, [&](const Ip& vip) { return node->second.candidates.contains(vip); });
  }
  void hold(const Unit& unit, const std::string& node) {
    load_[node] += static_cast<int>(unit.vips.size());
    if (!unit.options.apart.empty()) ++apart_[{node, unit.options.apart}];
  }

  bool healthy(const Unit& unit, const std::string& name) const {
    return std::ranges::all_of(
        unit.vips, [&](const Ip& vip) { return view_.nodes.at(name).candidates.at(vip).healthy; });
  }
  // When the node will have been well for the unit's delay; nothing: it is not well.
  std::optional<Instant> ready_at(const Unit& unit, const std::string& name) const {
    if (!can_hold(unit, name) || !healthy(unit, name)) return std::nullopt;
    Instant since{};
    for (const Ip& vip : unit.vips)
      since = std::max(since, view_.nodes.at(name).candidates.at(vip).healthy_since);
    return since + unit.options.preempt_delay;
  }
  int priority(const Unit& unit, const std::string& name) const {
    int lowest = view_.nodes.at(name).candidates.at(unit.vips.front()).priority;
    for (const Ip& vip : unit.vips)
      lowest = std::min(lowest, view_.nodes.at(name).candidates.at(vip).priority);
    return lowest;
  }
  bool asked_for(const Unit& unit, const std::string& name) const {
    return std::ranges::any_of(unit.vips, [&](const Ip& vip) {
      const auto asked = view_.by_hand.find(vip);
      return asked != view_.by_hand.end() && asked->second == name;
    });
  }
  // Larger is better.
  using Rank = std::tuple<bool, bool, bool, bool, int>;
  Rank rank(const Unit& unit, const std::string& name, bool holds_it) const {
    int together = 0;
    if (const auto at = apart_.find({name, unit.options.apart}); at != apart_.end())
      together = at->second - (holds_it ? 1 : 0);
    return {healthy(unit, name), together <= 0, asked_for(unit, name),
            !unit.options.preferred.empty() && unit.options.preferred == name,
            priority(unit, name)};
  }
  // How many VIPs it has besides this unit.
  int load(const Unit& unit, const std::string& name, bool holds_it) const {
    const auto at = load_.find(name);
    const int all = at == load_.end() ? 0 : at->second;
    return all - (holds_it ? static_cast<int>(unit.vips.size()) : 0);
  }

  bool is_better(const Unit& unit, const std::string& one, const std::string& other) const {
    return std::tuple(rank(unit, one, false), -load(unit, one, false)) >
           std::tuple(rank(unit, other, false), -load(unit, other, false));
  }

  void place(const Unit& unit) {
    const std::string* best = nullptr;
    for (const auto& [name, node] : view_.nodes) {
      if (!can_hold(unit, name)) continue;
      if (!best || is_better(unit, name, *best)) best = &name;
    }
    if (best) move(unit, *best, "it has no living holder");
  }

  // The best place for a unit that is better than where it is; null: there is none.
  const std::string* better_place(const Unit& unit, const std::string& holder) const {
    const Rank now = rank(unit, holder, true);
    const std::string* best = nullptr;
    for (const auto& [name, node] : view_.nodes) {
      if (name == holder || !can_hold(unit, name)) continue;
      const Rank there = rank(unit, name, false);
      if (there < now || !is_worth_it(unit, holder, name, now, there)) continue;
      if (!best || is_better(unit, name, *best)) best = &name;
    }
    return best;
  }
  // Every unit whose holder is sick, if another could hold it; of the others one that is better
  // elsewhere, the first that is found: the next follows when it has arrived.
  void improve() {
    bool improved = false;
    for (const Unit& unit : units_) {
      const std::string holder = holder_of(unit);
      const bool sick = !holder.empty() && !healthy(unit, holder);
      if (holder.empty() || (improved && !sick)) continue;
      const std::string* best = better_place(unit, holder);
      if (!best) continue;
      const std::string to = *best;
      improved = improved || !sick;
      move(unit, to, why(unit, holder, to, rank(unit, holder, true)));
    }
  }
  bool is_worth_it(const Unit& unit, const std::string& holder, const std::string& name,
                   const Rank& now, const Rank& there) const {
    if (!healthy(unit, holder) && healthy(unit, name)) return true;
    if (asked_for(unit, name)) return healthy(unit, name);
    if (asked_for(unit, holder) || !unit.options.preempt) return false;
    const std::optional<Instant> ready = ready_at(unit, name);
    if (!ready || *ready > now_) return false;
    if (there > now) return true;
    // Spread evenly: a move must leave the nodes closer together than they were.
    const int size = static_cast<int>(unit.vips.size());
    return load(unit, name, false) + size <= load(unit, holder, true);
  }
  std::string why(const Unit& unit, const std::string& holder, const std::string& name,
                  const Rank& now) const {
    if (!healthy(unit, holder)) return "its holder is not healthy";
    if (asked_for(unit, name)) return "it was asked for";
    if (rank(unit, name, false) > now) return "a better node has been well for the delay";
    return "VIPs are spread";
  }
  void move(const Unit& unit, const std::string& to, const std::string& reason) {
    hold(unit, to);
    for (const Ip& vip : unit.vips) {
      const auto row = view_.table.find(vip);
      if (row == view_.table.end() || row->second.node != to) moves_.push_back({vip, to, reason});
    }
  }

  const PlacementView& view_;
  Instant now_;
  std::vector<Unit> units_;
  std::map<std::string, int> load_;
  std::map<std::pair<std::string, std::string>, int> apart_;  // node, name: how many units
  std::vector<Move> moves_;
};

}  // namespace

std::vector<Move> place(const PlacementView& view, Instant now) {
  return Placer(view, now).moves();
}

}  // namespace fairlead::vip
