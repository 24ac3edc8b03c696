#include "features/vip/node/order.h"

#include "foundation/base/encoding.h"

namespace fairlead::vip {

std::string backend_name(Backend backend) {
  switch (backend) {
    case Backend::raft:
      return "raft";
    case Backend::etcd:
      return "etcd";
    case Backend::kubernetes:
      return "kubernetes";
  }
  return "";
}

Order order_of(const VipPlan& plan, const std::string& secret,
               const std::map<std::string, std::string>& keys, const std::map<Ip, bool>& healthy) {
  const ElectionConfig& election = plan.election;
  const bool raft = election.backend == Backend::raft;
  Order order{.node = plan.node,
              .backend = backend_name(election.backend),
              .listen = raft ? election.listen.to_string() : "",
              .secret = secret,
              .keyed = !election.tls.empty(),
              .keys = {},
              .members = {},
              .lease = election.settings.timing.lease.count(),
              .renew = election.settings.timing.renew.count(),
              .margin = election.settings.timing.margin.count(),
              .drift_ppm = election.settings.timing.drift_ppm,
              .keep_without_quorum = election.keep_without_quorum,
              .allow_weaker_fence = election.allow_weaker_fence,
              .without_fence = election.without_fence,
              .etcd_endpoints = election.etcd_endpoints,
              .etcd_ca = election.etcd_tls.ca,
              .etcd_certificate = election.etcd_tls.certificate,
              .etcd_key = election.etcd_tls.key,
              .etcd_prefix = election.etcd_prefix,
              .kubeconfig = election.kubeconfig,
              .lease_namespace = election.lease_namespace,
              .vips = {}};
  for (const auto& [peer, key] : keys)
    order.keys.push_back({.peer = peer, .key = encode_base64(key)});
  for (const Member& member : election.settings.members)
    order.members.push_back({.name = member.name, .address = member.address});
  for (const VipEntry& entry : plan.vips) {
    const auto health = healthy.find(entry.vip.address);
    order.vips.push_back({.address = entry.vip.address.to_string(),
                          .interface = entry.vip.interface,
                          .priority = entry.vip.priority,
                          .group = entry.vip.options.group,
                          .apart = entry.vip.options.apart,
                          .preferred = entry.vip.options.preferred,
                          .preempt = entry.vip.options.preempt,
                          .preempt_delay = entry.vip.options.preempt_delay.count(),
                          .healthy = health != healthy.end() && health->second});
  }
  return order;
}

}  // namespace fairlead::vip
