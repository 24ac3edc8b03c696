#include "features/networks/kinds/kinds.h"

#include "features/networks/kinds/ip_lock.h"
#include "features/networks/kinds/network_attachment.h"
#include "features/networks/kinds/node_report.h"
#include "features/networks/kinds/subnet.h"

namespace fairlead::networks {

std::vector<resource::Kind> kinds() {
  return {subnet_kind(), network_attachment_kind(), ip_lock_kind(), node_report_kind()};
}

}  // namespace fairlead::networks
