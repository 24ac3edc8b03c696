#include "api/store/restored_revision.h"

#include <algorithm>
#include <chrono>

namespace fairlead::store {

using namespace std::chrono;

Revision revision_of_time(WallTime now) {
  constexpr WallTime kBeginning = sys_days(year{2020} / January / 1);
  return std::max<Revision>(0, duration_cast<microseconds>(now - kBeginning).count());
}

Revision restored_revision(Revision known, WallTime now) {
  const Revision by_time = revision_of_time(now);
  return by_time > known ? by_time : known + kRestoreGap;
}

}  // namespace fairlead::store
