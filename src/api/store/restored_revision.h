// Where a store continues that is restored from a backup. Pure.
//
// The backup does not know what was handed out after it was made, and nobody else may: so the store
// continues at a revision that stands for the time of the restore.
#pragma once

#include "api/store/store.h"
#include "foundation/runtime/time.h"

namespace fairlead::store {

// Where the clock is of no use, so far beyond what is known to have been handed out.
inline constexpr Revision kRestoreGap = 1'000'000'000;

// One revision a microsecond since 2020, faster than any store makes them. So of two restores the
// later one is beyond the earlier, whatever was written in between and is forgotten. Fits a
// resourceVersion (2^53 revisions) until the year 2305.
Revision revision_of_time(WallTime now);

// Beyond everything that a store can have handed out of which `known` is the newest known revision.
// It is the time's unless the clock stands before what is known: were it further ahead of the time,
// a second restore of the same backup would continue at the same revision as the first.
Revision restored_revision(Revision known, WallTime now);

}  // namespace fairlead::store
