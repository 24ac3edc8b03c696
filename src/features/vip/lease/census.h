// Census: what a node has itself seen of the records in the store, and since when, on its own
// clock; and what follows from that. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/lease/lease_store.h"
#include "features/vip/lease/record.h"

namespace fairlead::vip {

constexpr std::string_view kTableName = "table";
std::string record_name(std::string_view node);

// What was seen of one node.
struct NodeSighting {
  std::string version;               // of its record; empty: there is none
  std::optional<NodeRecord> record;  // nothing: there is none, or it cannot be read
  Instant since{};  // when its last renewal, or that it has no record, was first seen
  std::map<Ip, Instant> healthy_since;

  // Its engine runs, as far as can be seen: not overdue by a whole lease.
  bool is_alive(Instant now) const;
  // It takes part in this table: it has read it, or was barred in it.
  bool is_in(const TableRecord& table) const { return record && record->table == table.id; }
  // It may answer for something, until it releases it or its lease has ended.
  bool may_answer() const;
  bool claims(const Claim& claim) const;
  bool may_answer_for(const Ip& vip) const;
  // It never claims this epoch again.
  bool has_ceded(const TableRecord& table, const Claim& claim) const;
  // From when on its record may be replaced by one that bars it: nothing of what it was given under
  // this renewal lasts longer.
  Instant barrable_at(const Timing& timing) const;
};

class Census {
 public:
  // A list; `skip` is a name whose record is not to be taken from it.
  void take(Instant now, const std::vector<StoredRecord>& list, std::string_view skip);
  // This node's own writes were confirmed.
  void put_node(Instant now, const std::string& node, NodeRecord record, std::string version);
  void put_table(Instant now, TableRecord table, std::string version);

  bool complete() const { return complete_; }  // a list was taken
  const std::map<std::string, NodeSighting, std::less<>>& nodes() const { return nodes_; }
  const NodeSighting* find(std::string_view node) const;
  const std::optional<TableRecord>& table() const { return table_; }
  const std::string& table_version() const { return table_version_; }
  // What cannot be read: records by name, with the reason.
  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }

 private:
  void see(Instant now, NodeSighting& sighting, std::optional<NodeRecord> record,
           std::string version);
  void expect_nodes_of_rows(Instant now);

  bool complete_ = false;
  std::map<std::string, NodeSighting, std::less<>> nodes_;
  std::optional<TableRecord> table_;
  std::string table_version_;
  std::map<std::string, std::string> unreadable_;
};

}  // namespace fairlead::vip
