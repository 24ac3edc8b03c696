#include "features/vip/lease/assignment.h"

#include <algorithm>
#include <utility>

namespace fairlead::vip {
namespace {

class Assigning {
 public:
  Assigning(const Census& census, Instant now)
      : census_(census), now_(now), table_(*census.table()) {}

  std::optional<Duty> bar() const {
    for (const auto& [node, seen] : census_.nodes()) {
      if (seen.is_alive(now_) || !stands_in_the_way(node, seen)) continue;
      if (now_ < seen.barrable_at(table_.timing)) continue;
      return Duty{.node = node, .barred = barred_record(seen, table_), .table = {}};
    }
    return std::nullopt;
  }

  std::optional<Duty> hand_on() {
    const TableRecord before = table_;
    const PlacementView view = placement_view(census_, now_);
    for (const Move& move : place(view, now_)) give(move.vip, move.to);
    for (const auto& [vip, row] : before.rows)
      if (table_.rows.at(vip).epoch == row.epoch) clear(vip, view.vips.contains(vip));
    if (table_ == before) return std::nullopt;
    return Duty{.node = {}, .barred = {}, .table = std::move(table_)};
  }

 private:
  // A node that does not live and may claim something that others are to have.
  bool stands_in_the_way(const std::string& node, const NodeSighting& seen) const {
    if (!seen.version.empty() && !seen.is_in(table_)) return true;
    return std::ranges::any_of(table_.rows, [&](const auto& row) {
      return row.second.node == node && !seen.has_ceded(table_, {row.first, row.second.epoch});
    });
  }
  bool is_free(const Ip& vip, const TableRow& row) const {
    const NodeSighting* holder = census_.find(row.node);
    return holder && holder->has_ceded(table_, {vip, row.epoch});
  }
  // Whatever the table says: who has another table in mind may claim anything.
  bool is_claimed_by_another(const Ip& vip, const std::string& than) const {
    return std::ranges::any_of(census_.nodes(), [&](const auto& node) {
      const NodeSighting& seen = node.second;
      if (node.first == than || seen.version.empty()) return false;
      return !seen.is_in(table_) || seen.may_answer_for(vip);
    });
  }
  void give(const Ip& vip, const std::string& to) {
    const auto row = table_.rows.find(vip);
    if (row != table_.rows.end() && !is_free(vip, row->second)) return ask_back(row->second);
    if (is_claimed_by_another(vip, to)) return;
    ++table_.counter;
    table_.rows[vip] = {.node = to, .epoch = table_.newest()};
  }
  // A row that was not given to anybody.
  void clear(const Ip& vip, bool is_offered) {
    TableRow& row = table_.rows.at(vip);
    if (is_free(vip, row)) {
      table_.rows.erase(vip);
    } else if (!is_offered) {
      ask_back(row);
    }
  }
  void ask_back(TableRow& row) const {
    const NodeSighting* holder = census_.find(row.node);
    if (holder && holder->is_alive(now_)) row.leaving = true;
  }

  const Census& census_;
  Instant now_;
  TableRecord table_;  // as it is to become
};

}  // namespace

NodeRecord barred_record(const NodeSighting& seen, const TableRecord& table) {
  NodeRecord record =
      seen.record ? *seen.record : NodeRecord{.lease = table.timing.lease, .gone = true};
  record.table = table.id;
  record.barred = table.newest();
  record.claims.clear();
  record.released.clear();
  return record;
}

bool has_assigner(const Census& census, Instant now) {
  const TableRecord& table = *census.table();
  const NodeSighting* seen = census.find(table.assigner);
  if (!seen) return false;
  if (!seen->record) return now < seen->since + table.timing.lease;
  return seen->is_alive(now) && seen->record->incarnation == table.incarnation;
}

PlacementView placement_view(const Census& census, Instant now) {
  const TableRecord& table = *census.table();
  PlacementView view{.vips = {}, .nodes = {}, .table = {}, .by_hand = table.by_hand};
  for (const auto& [name, seen] : census.nodes()) {
    if (!seen.record) continue;
    NodeView& node = view.nodes[name];
    node.alive = seen.is_alive(now) && seen.is_in(table);
    for (const Offer& offer : seen.record->offers) {
      view.vips.try_emplace(offer.vip, offer.options);
      const auto since = seen.healthy_since.find(offer.vip);
      node.candidates[offer.vip] = {
          .priority = offer.priority,
          .healthy = offer.healthy,
          .healthy_since = since == seen.healthy_since.end() ? now : since->second};
    }
  }
  for (const auto& [vip, row] : table.rows) {
    const NodeSighting* holder = census.find(row.node);
    const bool stays = holder && !row.leaving && !holder->has_ceded(table, {vip, row.epoch});
    view.table[vip] = {.node = stays ? row.node : std::string(), .epoch = row.epoch};
  }
  return view;
}

std::optional<Duty> plan_assignment(const Census& census, Instant now) {
  Assigning assigning(census, now);
  if (std::optional<Duty> duty = assigning.bar()) return duty;
  return assigning.hand_on();
}

}  // namespace fairlead::vip
