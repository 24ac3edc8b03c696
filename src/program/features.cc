#include "program/features.h"

#include "features/networks/ipam/virtual_networks.h"

namespace fairlead::program {

ServerFeatures make_server_features(const controllers::ServerFeatureParts& parts) {
  ServerFeatures features;
  features.push_back(std::make_unique<ipam::VirtualNetworks>(parts));
  return features;
}

}  // namespace fairlead::program
