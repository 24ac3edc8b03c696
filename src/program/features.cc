#include "program/features.h"

#include <algorithm>
#include <iterator>

#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/kinds.h"
#include "features/networks/node/networks_settings.h"
#include "features/networks/why/attachment_why.h"
#include "features/vip/command/vip_command.h"
#include "features/vip/kinds/virtual_ip.h"
#include "features/vip/node/vip_feature.h"
#include "features/vip/node/vip_why.h"
#include "features/vip/server/virtual_ips.h"

namespace fairlead::program {

std::vector<resource::Kind> feature_kinds() {
  std::vector<resource::Kind> all = networks::kinds();
  std::ranges::move(vip::kinds(), std::back_inserter(all));
  return all;
}

ServerFeatures make_server_features(const controllers::ServerFeatureParts& parts) {
  ServerFeatures features;
  features.push_back(std::make_unique<ipam::VirtualNetworks>(parts));
  features.push_back(std::make_unique<vip::VirtualIps>(parts));
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
