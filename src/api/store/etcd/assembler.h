// EtcdAssembler: turns the responses of one etcd watch over the whole root into whole revisions
// with the position of every change. Pure; EtcdTail feeds it.
//
// Every operation of a store transaction is exactly one event below the root, in the order given. A
// value's envelope tells its position. An erasure, which has no value and so no envelope, is one
// after the event before it: where a transaction of the same group failed (EtcdGroup), that is less
// than it might have been, but the same for everyone, and still below what follows. It is also why
// watches are over the root and never over a part of it.
#pragma once

#include <cstdint>
#include <vector>

#include "api/store/etcd/keys.h"
#include "api/store/store.h"
#include "foundation/base/result.h"
#include "foundation/wire/etcd.h"

namespace fairlead::store {

// All changes of one revision; none if it changed only what the store does not show (a tick).
struct RevisionChanges {
  Revision revision = 0;
  std::vector<Change> changes;
};

class EtcdAssembler {
 public:
  EtcdAssembler(const EtcdKeys& keys, Revision after) : keys_(keys), position_(after) {}

  // The revisions that this response completes, all later than position(). Fails with corrupt if
  // events go backwards. Revisions up to the position it began with are dropped.
  Result<std::vector<RevisionChanges>> take(const wire::etcd::WatchResponse& response);

  Revision position() const { return position_; }  // the last whole revision given out
  std::uint64_t foreign_values() const { return foreign_values_; }
  // When the record of the epoch was last written or erased, as far as this watch has seen; 0: not.
  Revision epoch_written() const { return epoch_written_; }

 private:
  void add(const wire::etcd::Event& event);

  const EtcdKeys& keys_;
  Revision position_;
  RevisionChanges open_;             // events of this revision may still follow
  std::uint32_t next_position_ = 0;  // of an erasure, were it next
  std::uint64_t foreign_values_ = 0;
  Revision epoch_written_ = 0;
};

}  // namespace fairlead::store
