#include "program/features.h"

#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/kinds.h"
#include "features/networks/node/networks_settings.h"
#include "features/networks/why/attachment_why.h"
#include "features/vip/command/vip_command.h"
#include "features/vip/node/vip_feature.h"
#include "features/vip/node/vip_why.h"

namespace fairlead::program {

std::vector<resource::Kind> feature_kinds() { return networks::kinds(); }

ServerFeatures make_server_features(const controllers::ServerFeatureParts& parts) {
  ServerFeatures features;
  features.push_back(std::make_unique<ipam::VirtualNetworks>(parts));
  return features;
}

std::vector<agent::FeatureType> node_features() {
  return {networks::networks_type(), vip::vip_type()};
}

std::vector<agent::WhyKind> why_kinds() {
  return {networks::attachment_why_kind(), vip::vip_why_kind()};
}

void add_feature_commands(CLI::App& app, int& exit_status) {
  vip::add_vip_commands(app, exit_status);
}

}  // namespace fairlead::program
