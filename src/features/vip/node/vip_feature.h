// Virtual IPs as a feature of the agent.
#pragma once

#include "node/agent/node_feature.h"

namespace fairlead::vip {

agent::FeatureType vip_type();

}  // namespace fairlead::vip
