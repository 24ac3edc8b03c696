// From the agent's configuration file to a VipPlan. Two forms are understood: `election` and
// `virtualIPs` (vip_settings.h), and kube-vip's file as it stands (kube_vip_settings.h), with its
// environment variables. A file that mixes them is refused.
//
// Pure, except check_host().
#pragma once

#include <string>
#include <vector>

#include "api/resource/schema/field_error.h"
#include "api/resource/schema/schema.h"
#include "features/vip/config/vip_plan.h"
#include "foundation/runtime/runtime.h"
#include "node/agent/checklist.h"
#include "node/agent/config_file.h"
#include "node/agent/node_feature.h"

namespace fairlead::vip {

// The fields of virtual IPs in the agent's file, of both forms, and their flags.
std::vector<resource::Field> vip_fields();
std::vector<agent::FlagType> vip_flags();

// Before the file is checked, where it is of kube-vip's form, or where kube-vip's variables are set
// and the file says nothing of virtual IPs: keys are taken in any case, variables override the
// file, and `node` is localPeer's id unless it is given. Fails naming the variable.
Result<> adopt_kube_vip(agent::ConfigFile& file, const agent::Environment& environment);

// REQUIRES: `config`, the whole file, fits the schema and has defaults filled in. What is wrong is
// added to the errors; the plan is then of no use.
VipPlan check_vip(const Json& config, resource::FieldErrors& errors);

// The node's name is known now: it becomes a member. Fails if the plan has another name for this
// node, or the same name for another one.
Result<> name_node(VipPlan& plan, const std::string& node);

// What the plan needs of this host, looked at without changing anything; then the plan's notes.
void check_host(const VipPlan& plan, runtime::Files& files, agent::Checklist& checks);

}  // namespace fairlead::vip
