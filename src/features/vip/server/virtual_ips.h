// VirtualIps: the server's part of virtual IPs: the admission of VirtualIPs and their Events. Who
// holds one is decided by the nodes; the server is told.
#pragma once

#include <memory>

#include "api/controllers/server_feature.h"
#include "features/vip/server/virtual_ip_interlock.h"

namespace fairlead::vip {

class VirtualIps final : public controllers::ServerFeature {
 public:
  explicit VirtualIps(const controllers::ServerFeatureParts& parts);

  std::string_view name() const override { return "vip"; }
  Task<void> run() override { return events_->run(); }

 private:
  std::unique_ptr<control::EventRecorder> events_;
  VirtualIpInterlock interlock_;
};

}  // namespace fairlead::vip
