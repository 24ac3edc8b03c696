#include "features/vip/server/virtual_ips.h"

namespace fairlead::vip {

VirtualIps::VirtualIps(const controllers::ServerFeatureParts& parts)
    : events_(parts.events.recorder("fairlead-vip")),
      interlock_(parts.runtime, parts.catalog, parts.cache, *events_) {
  parts.writer.add_admission(interlock_);
}

}  // namespace fairlead::vip
