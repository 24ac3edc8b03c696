// The writes that make an assignment true, for one transaction: its new IPLocks, the status of its
// attachment with addresses, MAC and lock UIDs, and the locks that it uses again, loses or lets go.
#pragma once

#include <memory>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "features/networks/ipam/assignment.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

// They refuse (conflict) when the attachment or its Subnet is not as it was decided on. Planning
// them fills in the assignment: UIDs of new locks, and what metrics need of the attachment.
// `networks` and `runtime` must outlive them.
std::vector<apiserver::WriteItem> writes_for(const NetworkState& networks,
                                             runtime::Runtime& runtime,
                                             const std::shared_ptr<Assignment>& assignment);

}  // namespace fairlead::ipam
