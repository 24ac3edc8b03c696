#include "features/vip/lease/census.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fairlead::vip {
namespace {

constexpr std::string_view kNodePrefix = "node-";

}  // namespace

std::string record_name(std::string_view node) { return std::string(kNodePrefix).append(node); }

bool NodeSighting::is_alive(Instant now) const {
  return record && record->incarnation != 0 && !record->gone && now < since + record->lease;
}

bool NodeSighting::may_answer() const {
  if (!record) return true;  // what it wrote before is not known
  return std::ranges::any_of(record->claims,
                             [&](const Claim& claim) { return claim.epoch > record->barred; });
}

bool NodeSighting::claims(const Claim& claim) const {
  return record && std::ranges::binary_search(record->claims, claim);
}

bool NodeSighting::may_answer_for(const Ip& vip) const {
  if (!record) return true;
  return std::ranges::any_of(record->claims, [&](const Claim& claim) {
    return claim.vip == vip && claim.epoch > record->barred;
  });
}

bool NodeSighting::has_ceded(const TableRecord& table, const Claim& claim) const {
  return is_in(table) &&
         (record->barred >= claim.epoch || std::ranges::binary_search(record->released, claim));
}

Instant NodeSighting::barrable_at(const Timing& timing) const {
  if (!may_answer()) return Instant{};
  return since + promise_length(timing, record ? record->lease : timing.lease);
}

const NodeSighting* Census::find(std::string_view node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second;
}

void Census::see(Instant now, NodeSighting& sighting, std::optional<NodeRecord> record,
                 std::string version) {
  const bool same = sighting.record && record
                        ? sighting.record->renewal() == record->renewal()
                        : sighting.version == version && sighting.since != Instant{};
  if (!same) sighting.since = now;
  std::map<Ip, Instant> healthy_since;
  if (record) {
    for (const Offer& offer : record->offers) {
      if (!offer.healthy) continue;
      const auto before = sighting.healthy_since.find(offer.vip);
      healthy_since[offer.vip] = before == sighting.healthy_since.end() ? now : before->second;
    }
  }
  sighting.healthy_since = std::move(healthy_since);
  sighting.record = std::move(record);
  sighting.version = std::move(version);
}

// A node that has rows and no record counts as seen like that from now on.
void Census::expect_nodes_of_rows(Instant now) {
  if (!table_) return;
  for (const auto& [vip, row] : table_->rows)
    if (!row.node.empty() && !nodes_.contains(row.node)) see(now, nodes_[row.node], {}, {});
}

void Census::take(Instant now, const std::vector<StoredRecord>& list, std::string_view skip) {
  complete_ = true;
  std::set<std::string, std::less<>> there;
  bool has_table = false;
  for (const StoredRecord& one : list) {
    if (one.name == kTableName) {
      has_table = true;
      if (one.version == table_version_) continue;
      Result<TableRecord> table = decode_table_record(one.value);
      unreadable_.erase(one.name);
      if (!table) {
        unreadable_[one.name] = table.error().message;
        continue;
      }
      table_ = std::move(*table);
      table_version_ = one.version;
    } else if (one.name.starts_with(kNodePrefix)) {
      const std::string_view node = std::string_view(one.name).substr(kNodePrefix.size());
      there.emplace(node);
      if (one.name == skip) continue;
      NodeSighting& sighting = nodes_[std::string(node)];
      if (one.version == sighting.version) continue;
      Result<NodeRecord> record = decode_node_record(one.value);
      unreadable_.erase(one.name);
      if (!record) unreadable_[one.name] = record.error().message;
      see(now, sighting, record ? std::optional(std::move(*record)) : std::nullopt, one.version);
    }
  }
  if (!has_table) {
    table_.reset();
    table_version_.clear();
    unreadable_.erase(std::string(kTableName));
  }
  for (auto& [node, sighting] : nodes_) {
    if (there.contains(node) || record_name(node) == skip) continue;
    unreadable_.erase(record_name(node));
    see(now, sighting, {}, {});
  }
  expect_nodes_of_rows(now);
}

void Census::put_node(Instant now, const std::string& node, NodeRecord record,
                      std::string version) {
  see(now, nodes_[node], std::move(record), std::move(version));
}

void Census::put_table(Instant now, TableRecord table, std::string version) {
  table_ = std::move(table);
  table_version_ = std::move(version);
  expect_nodes_of_rows(now);
}

}  // namespace fairlead::vip
