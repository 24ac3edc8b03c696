// The Events of virtual networks: reason and message. Pure.
#pragma once

#include <optional>
#include <vector>

#include "api/control/event_correlator.h"
#include "features/networks/ipam/assignment.h"

namespace fairlead::ipam {

// For an assignment that was written: its addresses if they are new, or why there are none.
std::optional<control::Happening> happening_of(const Assignment& assignment);

// For a subnet whose validation changed: that it is valid, or with which subnet it conflicts.
std::optional<control::Happening> happening_of(const SubnetFacts* before, const SubnetFacts* after);

// For a write of an attachment: what its node did or failed to do, or that its node has no agent.
// `before` null: it is created.
std::vector<control::Happening> happenings_of(const Json* before, const Json& after);

}  // namespace fairlead::ipam
