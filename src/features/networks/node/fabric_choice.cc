#include "features/networks/node/fabric_choice.h"

#include "node/fabric/log_fabric.h"
#include "node/fabric/ovs/ovs_fabric.h"
#include "node/fabric/vxlan/vxlan_fabric.h"

namespace fairlead::networks {
namespace {

using Make = Result<std::unique_ptr<fabric::Fabric>> (*)(runtime::Runtime&, const FabricChoice&);

Result<std::unique_ptr<fabric::Fabric>> make_log(runtime::Runtime&, const FabricChoice&) {
  return std::make_unique<fabric::LogFabric>();
}

Result<std::unique_ptr<fabric::Fabric>> make_vxlan(runtime::Runtime& runtime,
                                                   const FabricChoice& choice) {
  return std::make_unique<fabric::VxlanFabric>(runtime,
                                               fabric::vxlan::VxlanOptions{.local = choice.host});
}

Result<std::unique_ptr<fabric::Fabric>> make_ovs(runtime::Runtime& runtime,
                                                 const FabricChoice& choice) {
  return std::make_unique<fabric::ovs::OvsFabric>(
      runtime, fabric::ovs::OvsOptions{.run_directory = choice.ovs_run_dir,
                                       .datapath_type = choice.ovs_datapath,
                                       .local_ip = choice.host,
                                       .mtu = choice.mtu});
}

// A line for each.
constexpr std::pair<const char*, Make> kFabrics[] = {
    {"vxlan", make_vxlan},
    {"ovs", make_ovs},
    {"log", make_log},
};

}  // namespace

std::vector<std::string> fabric_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kFabrics) names.emplace_back(name);
  return names;
}

Result<std::unique_ptr<fabric::Fabric>> make_fabric(runtime::Runtime& runtime,
                                                    const FabricChoice& choice) {
  for (const auto& [name, make] : kFabrics)
    if (choice.name == name) return make(runtime, choice);
  return fail(Code::invalid, "there is no fabric called " + choice.name);
}

}  // namespace fairlead::networks
