// How etcd's revisions become the store's, and when that must change. Pure; EtcdHistory asks etcd.
//
//   store revision = base + etcd revision
//
// The base is 0 until somebody restores etcd from a backup. From then on etcd's revisions are
// smaller than ones that were handed out before, for changes that never were; so a new epoch
// begins, whose base lies beyond everything handed out. What was known by an older number is gone
// (410), all numbers go on growing, and a report of an older epoch is older than every change of
// this one. See docs/design/012-epochs-of-etcd.md.
//
// How a restore shows: etcd's raft log begins anew, its revisions do not. Within one life of a
// cluster every revision takes an entry of the log, so the slack (entries minus revisions) never
// shrinks; by `etcdctl snapshot restore` it falls by the length of the whole log. The cluster's id
// stays the same where the members' names and addresses do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/store/store.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::store {

struct EtcdEpoch {
  Revision base = 0;
  Revision began = 0;      // etcd's revision at which it began
  std::uint64_t life = 0;  // grows in this process with every change of epoch; 0: not yet known

  Revision shown(Revision in_etcd) const { return in_etcd + base; }
  Revision in_etcd(Revision shown) const { return shown - base; }
  // Nothing older can be listed or watched.
  Revision oldest() const { return base == 0 ? 0 : shown(began); }
};

// What etcd itself keeps of the epoch, below the root.
struct EpochRecord {
  Revision base = 0;
  std::uint64_t cluster = 0;
  std::int64_t slack = 0;
  bool operator==(const EpochRecord&) const = default;
};
std::string encode_epoch_record(const EpochRecord& record);
Result<EpochRecord> parse_epoch_record(std::string_view text);

// What a member of etcd shows of itself.
struct EtcdSighting {
  std::uint64_t cluster = 0;
  Revision revision = 0;
  std::int64_t least_slack = 0;
  std::int64_t most_slack = 0;
  std::optional<EpochRecord> record;
};

// What this server knew before it looked.
struct EtcdMemory {
  std::optional<EpochRecord> record;
  std::int64_t slack = 0;  // the largest seen since
  Revision seen = 0;       // the newest revision of the store that was handed out
};

struct EpochPlan {
  std::optional<EpochRecord> begin;  // nothing: what etcd has goes on
  std::string restored;              // how it shows that etcd was restored; empty if it was not
};
EpochPlan plan_epoch(const EtcdSighting& sighting, const EtcdMemory& memory, WallTime now);

}  // namespace fairlead::store
