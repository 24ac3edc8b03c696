// The rules of the field `election`.
#pragma once

#include <string>

#include "api/resource/schema/field_error.h"
#include "features/vip/config/field_checks.h"
#include "features/vip/config/vip_plan.h"
#include "features/vip/config/vip_settings.h"

namespace fairlead::vip {

// Times of an election; what is not given follows from the lease. Empty texts are not given.
struct TimeTexts {
  std::string lease, renew, margin;
  std::int64_t drift_ppm = 1'000;
};
Timing check_times(const TimeTexts& texts, Backend backend, FieldErrors& errors);

// The agent's own credentials for an API.
struct AgentApi {
  std::string kubeconfig;
  std::string join_dir;
};

// Fills in plan.election and, if the peers say it, plan.node. `members` are then all but this node
// if its name is not known.
void check_election(const ElectionSettings& settings, const AgentApi& api, VipPlan& plan,
                    MemberList& members, FieldErrors& errors);

// What both forms of the file say of an election that is complete. `members` counts this node.
void note_weaknesses(VipPlan& plan, std::size_t members);

}  // namespace fairlead::vip
