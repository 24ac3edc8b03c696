// An assignment as objects: the status of its attachment, and its locks. Pure.
#pragma once

#include <optional>
#include <string>

#include "features/networks/ipam/assignment.h"
#include "foundation/wire/json.h"

namespace fairlead::ipam {

// The address; empty: none.
std::string text_of(const std::optional<Assigned>& part);

// Section status.address as the assignment wants it; the other sections stay.
void fill_status(Json& attachment, const Assignment& assignment);

// The IPLock of one family's address, as it is created.
Json lock_for(const NetworkIndex& index, const Assignment& assignment, bool v4);

}  // namespace fairlead::ipam
