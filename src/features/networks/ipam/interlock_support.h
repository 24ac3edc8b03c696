// What the interlocks add to a transaction. Pure.
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

// Who must drop the attachment before its addresses are free: the nodes that may carry the network,
// or its own node alone as long as that has never said where it is (status.impl was never written):
// then nobody else was told. That nothing is said now would not be enough, since somebody may not
// have heard of that. Only nodes that report: an agent makes its NodeReport before it
// carries anything.
struct NodesToAwait {
  std::set<std::string> reporting;
  std::set<std::string> silent;  // without a report, which must still be so when it is committed
  // The revision of which this is true; 0: it does not matter who came since.
  store::Revision decided = 0;

  // The address is free at once. Not if somebody may have come since: they would be found later.
  bool nobody() const { return reporting.empty() && decided == 0; }
};
NodesToAwait nodes_to_await(const NetworkState& networks, Vni vni, const Json& attachment);

// The lock as it is once its attachment is gone: marked for deletion, waiting for `nodes`. What an
// attachment without an address lets go was released when it lost the address (kIdleLabel).
Json released_lock(Json lock, const LockFacts& facts, const Json& attachment,
                   const NodesToAwait& nodes, resource::Moment now);

// The commit fails when a node of these has made its report meanwhile.
void compare_silent(const NetworkState& networks, const std::set<std::string>& silent,
                    store::Transaction& transaction);

}  // namespace fairlead::ipam
