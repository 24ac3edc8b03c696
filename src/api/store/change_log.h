// ChangeLog: the most recent changes of a store, in order, for the watches that stand in them.
//
// Watches of MemoryStore and SqliteStore keep no queue of their own: each remembers the revision it
// has reached and reads on from here. However slow a watch is, it costs nothing; when the log has
// moved past it, it is told so (MemoryStore: gone; SqliteStore: read the database instead).
//
// Invariant: every change with floor() < revision <= head() is here, none with revision <= floor().
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include "api/store/store.h"

namespace fairlead::store {

class ChangeLog {
 public:
  explicit ChangeLog(Revision head) : floor_(head), head_(head) {}

  Revision floor() const { return floor_; }
  Revision head() const { return head_; }
  std::size_t size() const { return changes_.size(); }
  std::size_t bytes() const { return bytes_; }

  // REQUIRES: head() < revision, and every change is of that revision, in order of position.
  void append(Revision revision, std::vector<Change> changes);

  // What a watch that has seen everything up to `after` gets next: whole revisions only, at most
  // about kBatchChanges changes. The batch may be empty and still move the watch forward.
  // REQUIRES: floor() <= after < head().
  ChangeBatch read(std::string_view prefix, Revision after) const;

  // The oldest change, and forgetting all changes of its revision. REQUIRES: size() > 0.
  Revision oldest() const { return changes_.front().current.modified.revision; }
  std::vector<Change> forget_oldest();

  static constexpr std::size_t kBatchChanges = 512;

 private:
  Revision floor_;
  Revision head_;
  std::deque<Change> changes_;
  std::size_t bytes_ = 0;
};

// What a change is counted as when memory is bounded.
std::size_t footprint(const Change& change);

}  // namespace fairlead::store
