// What the assigner is to write next (docs/design/022, rules 4 and 5), from what it has seen. Pure.
#pragma once

#include <optional>
#include <string>

#include "features/vip/lease/census.h"

namespace fairlead::vip {

struct Duty {
  // The node whose record is to be replaced by `barred`, which bars it.
  std::string node;
  std::optional<NodeRecord> barred;
  // Or the table is to be replaced by this one.
  std::optional<TableRecord> table;
};

// What is to be done now; nothing: all is well, or must wait. REQUIRES: there is a table.
std::optional<Duty> plan_assignment(const Census& census, Instant now);

// The record that replaces one that was seen like this.
NodeRecord barred_record(const NodeSighting& seen, const TableRecord& table);

// The table's assigner is gone, or was overdue for a whole lease.
bool has_assigner(const Census& census, Instant now);

// As placement sees what was seen.
PlacementView placement_view(const Census& census, Instant now);

}  // namespace fairlead::vip
