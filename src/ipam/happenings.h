// What the Events of address assignment say. Pure.
#pragma once

#include <optional>

#include "client/event_correlator.h"
#include "ipam/assignment.h"

namespace fairlead::ipam {

// Of an assignment that was written: its addresses if they are new, or why there are none.
std::optional<client::Happening> happening_of(const Assignment& assignment);

// Of a subnet whose verdict changed: that it counts, or what is in its way.
std::optional<client::Happening> happening_of(const SubnetFacts* before, const SubnetFacts* after);

}  // namespace fairlead::ipam
