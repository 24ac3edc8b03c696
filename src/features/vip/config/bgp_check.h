// The rules of the field `bgp`.
#pragma once

#include <optional>

#include "api/resource/schema/field_error.h"
#include "features/vip/config/field_checks.h"
#include "features/vip/config/vip_plan.h"
#include "features/vip/config/vip_settings.h"

namespace fairlead::vip {

// Fills in plan.bgp. REQUIRES: the election and the virtual IPs of the plan are there.
void check_bgp(const std::optional<BgpSettings>& settings, VipPlan& plan, FieldErrors& errors);

}  // namespace fairlead::vip
