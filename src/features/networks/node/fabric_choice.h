// The fabrics by name: what --fabric can be.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

struct FabricChoice {
  std::string name;
  Ip host;  // this node's end of the tunnels
  // Of ovs only; see node/fabric/ovs/ovs_fabric.h.
  std::string ovs_run_dir;
  std::string ovs_datapath;
  std::uint32_t mtu = 0;
};

std::vector<std::string> fabric_names();

// REQUIRES: the name is one of fabric_names().
Result<std::unique_ptr<fabric::Fabric>> make_fabric(runtime::Runtime& runtime,
                                                    const FabricChoice& choice);

}  // namespace fairlead::networks
