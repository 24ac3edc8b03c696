// Files to begin with: what `fairlead vip sample` and `fairlead vip manifest` print. Pure.
#pragma once

#include <string>

#include "foundation/base/result.h"

namespace fairlead::vip {

// A configuration file for the agent, with comments. The agent takes it as it is.
std::string vip_sample();

struct ManifestOptions {
  std::string image = "fairlead:latest";
  std::string config = "/etc/fairlead/agent.yaml";  // on the host
  std::string state = "/var/lib/fairlead-vip";      // on the host
};

// A static Pod that runs the agent: for /etc/kubernetes/manifests, before there is an API server.
// Fails naming the flag of what is wrong.
Result<std::string> vip_manifest(const ManifestOptions& options);

}  // namespace fairlead::vip
