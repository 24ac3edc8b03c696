// What the Events of address assignment say. Pure.
#pragma once

#include <optional>
#include <vector>

#include "api/client/event_correlator.h"
#include "features/networks/ipam/assignment.h"

namespace fairlead::ipam {

// Of an assignment that was written: its addresses if they are new, or why there are none.
std::optional<client::Happening> happening_of(const Assignment& assignment);

// Of a subnet whose verdict changed: that it counts, or what is in its way.
std::optional<client::Happening> happening_of(const SubnetFacts* before, const SubnetFacts* after);

// Of a write of an attachment: what its node did or could not do, and that there is nobody who
// could. `before` null: it is created.
std::vector<client::Happening> happenings_of(const Json* before, const Json& after);

}  // namespace fairlead::ipam
