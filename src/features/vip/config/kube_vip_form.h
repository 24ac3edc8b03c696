// kube-vip's file as a VipPlan: what its fields mean here, with a note on each. Used by
// vip_config.cc.
#pragma once

#include "features/vip/config/field_checks.h"
#include "features/vip/config/kube_vip_settings.h"
#include "features/vip/config/vip_plan.h"

namespace fairlead::vip {

// kube-vip's ids can be anything; ours are node names: lower case, with "-" for "_".
std::string node_name_of(std::string_view id);

// Fills in the plan. `plan.node` is what the field `node` says, if anything.
void plan_kube_vip(const KubeVipSettings& settings, VipPlan& plan, MemberList& members,
                   FieldErrors& errors);

std::vector<KubeVipLoadBalancer> check_balancers(const KubeVipSettings& settings,
                                                 FieldErrors& errors);

}  // namespace fairlead::vip
