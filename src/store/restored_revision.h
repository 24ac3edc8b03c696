// Where a store continues that is restored from a backup. Pure.
//
// The backup does not know what was handed out after it was made, and nobody else may: so the store
// continues both far beyond the backup and at a revision that stands for the time of the restore.
#pragma once

#include "runtime/time.h"
#include "store/store.h"

namespace fairlead::store {

// At least this far beyond anything that is known to have been handed out.
inline constexpr Revision kRestoreGap = 1'000'000'000;

// One revision a microsecond since 2020, faster than any store makes them. So of two restores the
// later one is beyond the earlier, whatever was written in between and is forgotten. Fits a
// resourceVersion (2^53 revisions) until the year 2305.
Revision revision_of_time(WallTime now);

// Beyond everything that a store can have handed out of which `known` is the newest known revision.
Revision restored_revision(Revision known, WallTime now);

}  // namespace fairlead::store
