// Virtual networks in the agent's configuration file: the section `networks`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/resource/schema/describe.h"
#include "features/networks/node/fabric_choice.h"
#include "features/networks/node/networks_node.h"
#include "node/agent/node_feature.h"

namespace fairlead::networks {

struct OvsSettings {
  std::string run_dir;
  std::string datapath;

  template <class V>
  static void describe(V& v) {
    v.field("runDir", &OvsSettings::run_dir)
        .default_value("/var/run/openvswitch")
        .description("Folder of Open vSwitch's db.sock (ovs only).");
    v.field("datapath", &OvsSettings::datapath)
        .one_of({"", "system", "netdev"})
        .description("`netdev` for the userspace datapath (ovs only). Default: the kernel's.");
  }
};

struct HookSettings {
  std::vector<std::string> allowed_programs;
  std::string timeout;
  std::int64_t output = 0;
  std::int32_t at_once = 0;

  template <class V>
  static void describe(V& v) {
    v.field("allowedPrograms", &HookSettings::allowed_programs)
        .description("Programs that attachments may have run here, by absolute path.");
    v.field("timeout", &HookSettings::timeout)
        .format("duration")
        .default_value("30s")
        .description("Time limit of a hook; it is killed after that.");
    v.field("output", &HookSettings::output)
        .minimum(0)
        .maximum(65536)
        .default_value(4096)
        .description("Bytes kept of each output of a hook.");
    v.field("atOnce", &HookSettings::at_once)
        .minimum(1)
        .maximum(1000)
        .default_value(4)
        .description("Hooks that run at the same time.");
  }
};

struct NetworksSettings {
  std::string host;
  std::string fabric;
  std::string audit_interval;
  std::int32_t mtu = 0;
  OvsSettings ovs;
  HookSettings hooks;

  template <class V>
  static void describe(V& v) {
    v.field("host", &NetworksSettings::host)
        .required()
        .description("This node's address, to which other nodes send tunnelled packets.");
    v.field("fabric", &NetworksSettings::fabric)
        .one_of({"vxlan", "ovs", "log"})
        .default_value("vxlan")
        .description(
            "What carries the networks: vxlan (the kernel alone), ovs (Open vSwitch), or log, "
            "which "
            "makes nothing and only says what it was asked for.");
    v.field("auditInterval", &NetworksSettings::audit_interval)
        .format("duration")
        .default_value("30s")
        .description("How often the fabric is compared with what it should carry, and repaired.");
    v.field("mtu", &NetworksSettings::mtu)
        .minimum(0)
        .maximum(65535)
        .description(
            "MTU of attachments' interfaces (ovs only); 0: that of the interface with this node's "
            "address, less the tunnel's headers (50 bytes, 70 on IPv6).");
    v.field("ovs", &NetworksSettings::ovs).description("Of the fabric ovs.");
    v.field("hooks", &NetworksSettings::hooks)
        .description("Programs that attachments have run on this node.");
  }
};

struct NetworksConfig {
  NetworksOptions options;
  FabricChoice fabric;
};

// The section of the file as configuration; what is wrong is added to the errors.
NetworksConfig check_networks(const Json& config, resource::FieldErrors& errors);

// What the fabric needs of this host, looked at without changing anything.
void check_host(const NetworksConfig& config, runtime::Files& files, agent::Checklist& checks);

// Virtual networks as a feature of the agent. Its fabric claims the host (host_claim.h).
agent::FeatureType networks_type();

}  // namespace fairlead::networks
