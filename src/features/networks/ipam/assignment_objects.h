// An assignment as objects: the status of its attachment, and its locks.
#pragma once

#include <optional>
#include <string>

#include "features/networks/ipam/assignment.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/json.h"

namespace fairlead::ipam {

// The address; empty: none.
std::string text_of(const std::optional<Assigned>& part);

// Section status.address as the assignment wants it; the other sections stay.
void fill_status(Json& attachment, const Assignment& assignment);

// The whole IPLock of one family's address. Its UID is kept in the assignment, for the status.
Json new_lock(const NetworkState& networks, runtime::Runtime& runtime, Assignment& assignment,
              bool v4);

}  // namespace fairlead::ipam
