// What follows from a VirtualIP: its conditions, and what happened to it, for Events. Pure.
//
//   Ready     a node says that it answers for the address, and that it is healthy
//   Fenced    the holder's kernel silences it when its time is over
//   Accepted  no node that takes part refuses it
#pragma once

#include <string_view>
#include <vector>

#include "api/control/event_correlator.h"
#include "api/resource/condition.h"

namespace fairlead::vip {

inline constexpr std::string_view kFenced = "Fenced";
inline constexpr std::string_view kAccepted = "Accepted";

std::vector<resource::Condition> conditions_of(const Json& object);

// `before` null: it is new.
std::vector<control::Happening> happenings_of(const Json* before, const Json& after);

}  // namespace fairlead::vip
