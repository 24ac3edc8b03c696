// kube-vip's own configuration file (its version 0.1.5, with raft), which the agent takes as it
// stands: top-level fields beside the agent's. Types and descriptions only; what they become is in
// kube_vip_form.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/resource/schema/describe.h"

namespace fairlead::vip {

struct KubeVipPeer {
  std::string id;
  std::string address;
  std::int32_t port = 0;

  template <class V>
  static void describe(V& v) {
    v.field("id", &KubeVipPeer::id).required().description("Its name.");
    v.field("address", &KubeVipPeer::address).required().description("Its address.");
    v.field("port", &KubeVipPeer::port)
        .minimum(1)
        .maximum(65535)
        .default_value(10000)
        .description("Its port.");
  }
};

struct KubeVipBackend {
  std::string address;
  std::int32_t port = 0;
  std::string url;
  std::string raw_url;

  template <class V>
  static void describe(V& v) {
    v.field("address", &KubeVipBackend::address)
        .description("Address; of the type http also a URL.");
    v.field("port", &KubeVipBackend::port).minimum(0).maximum(65535).description("Port.");
    v.field("url", &KubeVipBackend::url).description("URL (type http).");
    v.field("rawURL", &KubeVipBackend::raw_url).description("The same as url.");
  }
};

struct KubeVipBalancerSettings {
  std::string name;
  std::string type;
  std::int32_t port = 0;
  bool bind_to_vip = false;
  std::int32_t backend_port = 0;
  std::vector<KubeVipBackend> backends;

  template <class V>
  static void describe(V& v) {
    v.field("name", &KubeVipBalancerSettings::name).description("For people.");
    v.field("type", &KubeVipBalancerSettings::type)
        .required()
        .description("tcp, udp or http, in any case.");
    v.field("port", &KubeVipBalancerSettings::port)
        .required()
        .minimum(1)
        .maximum(65535)
        .description("Where it listens.");
    v.field("bindToVip", &KubeVipBalancerSettings::bind_to_vip)
        .description("Whether it listens on the virtual IP only, on its holder.");
    v.field("backendPort", &KubeVipBalancerSettings::backend_port)
        .minimum(0)
        .maximum(65535)
        .description("Port of backends that have none of their own.");
    v.field("backends", &KubeVipBalancerSettings::backends)
        .max_length(256)
        .description("Where connections go.");
  }
};

struct KubeVipSettings {
  std::optional<KubeVipPeer> local_peer;
  std::vector<KubeVipPeer> remote_peers;
  std::string vip;
  std::string interface;
  std::optional<bool> gratuitous_arp;
  std::optional<bool> single_node;
  std::optional<bool> start_as_leader;
  std::optional<bool> add_peers_as_backends;
  std::vector<KubeVipBalancerSettings> load_balancers;

  template <class V>
  static void describe(V& v) {
    v.field("localPeer", &KubeVipSettings::local_peer)
        .description("kube-vip's file: this node. Here `node` and `election.listen`.");
    v.field("remotePeers", &KubeVipSettings::remote_peers)
        .max_length(15)
        .description("kube-vip's file: the other nodes. Here `election.peers`.");
    v.field("vip", &KubeVipSettings::vip)
        .description("kube-vip's file: the virtual IP. Here `virtualIPs[0].address`.");
    v.field("interface", &KubeVipSettings::interface)
        .description("kube-vip's file: here `virtualIPs[0].interface`.");
    v.field("gratuitousARP", &KubeVipSettings::gratuitous_arp)
        .description("kube-vip's file: here a new holder always announces itself.");
    v.field("singleNode", &KubeVipSettings::single_node)
        .description("kube-vip's file: here an election with this node as its only member.");
    v.field("startAsLeader", &KubeVipSettings::start_as_leader)
        .description(
            "kube-vip's file: here `virtualIPs[0].preferredNode`, never a cluster of one.");
    v.field("addPeersAsBackends", &KubeVipSettings::add_peers_as_backends)
        .description("kube-vip's file: has no effect, as it had none there.");
    v.field("loadBalancers", &KubeVipSettings::load_balancers)
        .max_length(256)
        .description("kube-vip's file: checked; this version does not serve them yet.");
  }
};

}  // namespace fairlead::vip
