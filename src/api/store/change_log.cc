#include "api/store/change_log.h"

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::store {

std::size_t footprint(const Change& change) {
  return sizeof(Change) + change.current.key.size() + change.current.value.size();
}

void ChangeLog::append(Revision revision, std::vector<Change> changes) {
  CHECK(revision > head_);
  head_ = revision;
  for (Change& change : changes) {
    bytes_ += footprint(change);
    changes_.push_back(std::move(change));
  }
}

ChangeBatch ChangeLog::read(std::string_view prefix, Revision after) const {
  CHECK(floor_ <= after && after < head_);
  auto next = std::ranges::upper_bound(
      changes_, after, {}, [](const Change& change) { return change.current.modified.revision; });
  ChangeBatch batch{.revision = head_, .changes = {}};
  // Non-matching changes are counted too, so that one call never walks a long log.
  constexpr std::size_t kMostVisited = 16 * kBatchChanges;
  for (std::size_t visited = 0; next != changes_.end(); ++next, ++visited) {
    const Revision revision = next->current.modified.revision;
    const bool full = batch.changes.size() >= kBatchChanges || visited >= kMostVisited;
    if (full && revision != std::prev(next)->current.modified.revision) {
      batch.revision = std::prev(next)->current.modified.revision;
      break;
    }
    if (next->current.key.starts_with(prefix)) batch.changes.push_back(*next);
  }
  return batch;
}

std::vector<Change> ChangeLog::forget_oldest() {
  CHECK(!changes_.empty());
  floor_ = oldest();
  std::vector<Change> forgotten;
  while (!changes_.empty() && oldest() == floor_) {
    bytes_ -= footprint(changes_.front());
    forgotten.push_back(std::move(changes_.front()));
    changes_.pop_front();
  }
  return forgotten;
}

}  // namespace fairlead::store
