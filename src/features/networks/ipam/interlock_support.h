// What the interlocks (admissions of this feature) add to a transaction. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "api/apimachinery/status.h"
#include "api/resource/timestamp.h"
#include "api/store/store.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/wire/json.h"

namespace fairlead::ipam {

// "a,b,c", as kAwaitsAnnotation has it.
std::string join_names(const std::set<std::string>& names);

// The nodes that must drop the attachment before its addresses are free: all that may carry the
// network, or its own node alone if status.impl was *never* written, because then no other node was
// told where it is. (That status.impl is empty now is not enough: a node may not have seen that.)
// Only nodes with a NodeReport count: an agent creates it before it carries anything.
struct NodesToAwait {
  std::set<std::string> reporting;
  std::set<std::string> silent;  // nodes without a report; compared, so that this still holds
  // The revision as of which this is true; 0: nodes that came later do not matter.
  store::Revision decided = 0;

  // The address is free at once. Not if a node may have come since: it would be found later.
  bool nobody() const { return reporting.empty() && decided == 0; }
};
NodesToAwait nodes_to_await(const NetworkState& networks, Vni vni, const Json& attachment);

// The lock once its attachment is gone: marked for deletion, waiting for `nodes`. The lock of an
// attachment that has lost its address was released when it lost it (kIdleLabel).
Json released_lock(Json lock, const LockFacts& facts, const Json& attachment,
                   const NodesToAwait& nodes, resource::Moment now);

// Adds compares so that the commit fails if one of these nodes has created its report meanwhile.
void compare_silent(const NetworkState& networks, const std::set<std::string>& silent,
                    store::Transaction& transaction);

}  // namespace fairlead::ipam
