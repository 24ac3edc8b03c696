#include "features/vip/control/messages.h"

#include <algorithm>
#include <utility>

#include "features/vip/lease/backends.h"
#include "foundation/base/encoding.h"

namespace fairlead::vip {

Result<EngineOptions> engine_options(const Order& order, const std::string& state) {
  EngineOptions options{.node = order.node,
                        .listen = {},
                        .state = state + "/election.json",
                        .secret = {},
                        .settings = {},
                        .keep_without_quorum = order.keep_without_quorum};
  if (order.backend == "raft") {
    auto listen = runtime::Endpoint::parse(order.listen);
    if (!listen) return fail(std::move(listen).error().context("listen"));
    options.listen = std::move(*listen);
  } else if (order.backend != "etcd" && order.backend != "kubernetes") {
    return fail(Code::invalid, "backend must be raft, etcd or kubernetes");
  }
  if (!order.secret.empty()) options.secret = order.secret;
  options.keyed = order.keyed;
  for (const MemberOrder& member : order.members)
    options.settings.members.push_back({.name = member.name, .address = member.address});
  options.settings.timing = {.lease = Duration(order.lease),
                             .renew = Duration(order.renew),
                             .margin = Duration(order.margin),
                             .drift_ppm = order.drift_ppm};
  return options;
}

Result<std::unique_ptr<Electorate>> open_electorate(runtime::Runtime& runtime, const Order& order,
                                                    const std::string& state) {
  FL_TRY(EngineOptions options, engine_options(order, state));
  if (order.backend == "raft") {
    FL_TRY(std::unique_ptr<PeerElectorate> peers,
           PeerElectorate::open(runtime, std::move(options)));
    return std::unique_ptr<Electorate>(std::move(peers));
  }
  FL_TRY(const std::vector<VipConfig> configs, vip_configs(order));
  std::vector<Ip> vips;
  for (const VipConfig& config : configs) vips.push_back(config.address);
  StoreElectorateOptions store{.node = order.node,
                               .state = state + "/instance",
                               .timing = options.settings.timing,
                               .keep_without_store = order.keep_without_quorum};
  if (order.backend == "etcd")
    return open_backend(runtime,
                        EtcdBackend{.endpoints = order.etcd_endpoints,
                                    .ca = order.etcd_ca,
                                    .certificate = order.etcd_certificate,
                                    .key = order.etcd_key,
                                    .root = order.etcd_prefix},
                        std::move(store), vips);
  KubernetesBackend kubernetes{.kubeconfig = order.kubeconfig};
  if (!order.lease_namespace.empty()) kubernetes.namespace_name = order.lease_namespace;
  return open_backend(runtime, kubernetes, std::move(store), vips);
}

Result<std::vector<VipConfig>> vip_configs(const Order& order) {
  std::vector<VipConfig> vips;
  for (const VipOrder& one : order.vips) {
    auto address = Ip::parse(one.address);
    if (!address) return fail(std::move(address).error().context("vips"));
    vips.push_back({.address = *address,
                    .interface = one.interface,
                    .priority = one.priority,
                    .options = {.group = one.group,
                                .apart = one.apart,
                                .preferred = one.preferred,
                                .preempt = one.preempt,
                                .preempt_delay = Duration(one.preempt_delay)},
                    .healthy = one.healthy});
  }
  return vips;
}

Result<std::map<std::string, std::string>> peer_keys(const Order& order) {
  std::map<std::string, std::string> keys;
  for (const KeyOrder& one : order.keys) {
    auto key = decode_base64(one.key);
    if (!key) return fail(std::move(key).error().context("key of " + one.peer));
    keys[one.peer] = std::move(*key);
  }
  return keys;
}

bool only_vips_differ(const Order& before, const Order& after) {
  if (before.vips.empty() != after.vips.empty()) return false;  // a fence is needed, or none
  Order same = after;
  same.vips = before.vips;
  same.keys = before.keys;
  // The members and times that count are those of the log.
  same.members = before.members;
  same.lease = before.lease, same.renew = before.renew, same.margin = before.margin;
  same.drift_ppm = before.drift_ppm;
  return same == before;
}

Measure together(const Measure& one, const Measure& other) {
  Measure both = other;
  both.pause = std::max(one.pause, other.pause);
  both.write = std::max(one.write, other.write);
  for (const PeerMeasure& before : one.peers) {
    const auto at = std::ranges::find(both.peers, before.peer, &PeerMeasure::peer);
    if (at == both.peers.end()) {
      both.peers.push_back(before);
      continue;
    }
    at->sent += before.sent;
    at->answered += before.answered;
    at->total += before.total;
    at->longest = std::max(at->longest, before.longest);
  }
  return both;
}

Measured measured_of(const Measure& measure) {
  Measured all{.sounding = {.peers = {}, .longest_pause = Duration(measure.pause)},
               .longest_write = Duration(measure.write),
               .in_force = {.lease = Duration(measure.lease),
                            .renew = Duration(measure.renew),
                            .margin = Duration(measure.margin),
                            .drift_ppm = measure.drift_ppm}};
  for (const PeerMeasure& one : measure.peers)
    all.sounding.peers.push_back({.peer = one.peer,
                                  .sent = static_cast<std::uint64_t>(one.sent),
                                  .answered = static_cast<std::uint64_t>(one.answered),
                                  .total = Duration(one.total),
                                  .longest = Duration(one.longest)});
  return all;
}

Result<Wish> parse_wish(const WishOrder& order) {
  if (order.kind == "move") {
    auto vip = Ip::parse(order.vip);
    if (!vip) return fail(std::move(vip).error());
    return Wish{.kind = Wish::Kind::move, .vip = *vip, .node = order.node, .address = {}};
  }
  if (order.kind == "addMember") {
    auto address = runtime::Endpoint::parse(order.address);
    if (!address) return fail(std::move(address).error());
    return Wish{
        .kind = Wish::Kind::add_member, .vip = {}, .node = order.node, .address = order.address};
  }
  if (order.kind == "removeMember")
    return Wish{.kind = Wish::Kind::remove_member, .vip = {}, .node = order.node, .address = {}};
  return fail(Code::invalid, "kind must be move, addMember or removeMember");
}

}  // namespace fairlead::vip
