// What the agent orders the engine to do, from the plan and from what the gates say. Pure.
#pragma once

#include <map>
#include <string>

#include "features/vip/config/vip_plan.h"
#include "features/vip/control/messages.h"

namespace fairlead::vip {

// VIPs that are not in `healthy` are not held unless nobody is healthy.
// `keys` are those of the pairs of nodes (keys/), where the plan has TLS.
Order order_of(const VipPlan& plan, const std::string& secret,
               const std::map<std::string, std::string>& keys, const std::map<Ip, bool>& healthy);

// As the file has it: raft, etcd, kubernetes.
std::string backend_name(Backend backend);

}  // namespace fairlead::vip
