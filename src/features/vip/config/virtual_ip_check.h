// The rules of the field `virtualIPs`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/resource/schema/field_error.h"
#include "features/vip/config/field_checks.h"
#include "features/vip/config/vip_plan.h"
#include "features/vip/config/vip_settings.h"

namespace fairlead::vip {

// Adds to plan.vips and plan.notes. `members` are those of the election, if it lists them.
void check_virtual_ips(const std::vector<VirtualIpSettings>& settings, const MemberList& members,
                       VipPlan& plan, FieldErrors& errors);

// One virtual IP by itself, whose fields are below `path`. Nothing if it has errors.
std::optional<VipEntry> check_virtual_ip(const std::string& path, const VirtualIpSettings& settings,
                                         FieldErrors& errors);

FromApi check_from_api(const std::string& path, const FromApiSettings& settings,
                       FieldErrors& errors);

// A virtual IP that is nobody's own address.
void check_not_own(const std::string& path, const Ip& address, const MemberList& members,
                   const VipPlan& plan, FieldErrors& errors);

GateConfig check_gate(const std::string& path, const HealthSettings& settings, FieldErrors& errors);

}  // namespace fairlead::vip
