// Frames of strangers on the segment of a virtual IP.
#include "features/vip/announce/frames.h"
#include "foundation/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace fairlead::vip;
  const auto claim = claim_in({reinterpret_cast<const char*>(data), size});
  if (!claim) return 0;
  for (const std::string& frame : announcements(claim->address, claim->mac))
    CHECK(claim_in(frame) == claim);
  return 0;
}
