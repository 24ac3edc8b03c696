// VirtualNetworks: the server's part of virtual networks: index, admissions, controllers.
#pragma once

#include "api/controllers/server_feature.h"
#include "features/networks/ipam/address_controller.h"
#include "features/networks/ipam/address_interlock.h"
#include "features/networks/ipam/network_state.h"
#include "features/networks/ipam/quarantine_keeper.h"
#include "features/networks/ipam/readiness_interlock.h"
#include "features/networks/ipam/readiness_keeper.h"
#include "features/networks/ipam/release_interlock.h"
#include "features/networks/ipam/subnet_interlock.h"

namespace fairlead::ipam {

class VirtualNetworks final : public controllers::ServerFeature {
 public:
  explicit VirtualNetworks(const controllers::ServerFeatureParts& parts);

  std::string_view name() const override { return "networks"; }
  Task<void> run() override;
  std::vector<std::string> known_nodes() const override { return quarantine_.reporting_nodes(); }
  Task<Result<>> forget_node(std::string node) override;

  const NetworkState& state() const { return state_; }

 private:
  runtime::Runtime& runtime_;
  std::unique_ptr<control::EventRecorder> events_;
  NetworkState state_;
  SubnetInterlock subnets_;
  ReleaseInterlock releases_;
  AddressController addresses_;
  AddressInterlock address_interlock_;
  ReadinessInterlock readiness_;
  ReadinessKeeper readiness_keeper_;
  QuarantineKeeper quarantine_;
};

}  // namespace fairlead::ipam
