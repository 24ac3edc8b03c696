#include "features/vip/config/kube_vip_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/identity/user.h"
#include "features/vip/config/election_check.h"
#include "features/vip/config/virtual_ip_check.h"

namespace fairlead::vip {
namespace {

// Only the node that starts as leader says so, so it is told as its own priority and not as the
// address' preferred node.
constexpr std::int32_t kLeaderPriority = 200;
constexpr const char* kAlone = "127.0.0.1:10000";  // of a node without peers

// A peer that is known by its name here. Nothing: something is wrong with it.
struct KnownPeer {
  std::string name;
  runtime::Endpoint address;
};

std::optional<KnownPeer> check_peer(const std::string& path, const KubeVipPeer& peer,
                                    FieldErrors& errors) {
  KnownPeer known{.name = node_name_of(peer.id), .address = {}};
  const bool named = identity::is_node_name(known.name);
  if (!named)
    refuse(errors, path + ".id", peer.id,
           "is not a valid node name: letters, digits, \"-\" and \".\"");
  const std::string host = peer.address.contains(':') ? "[" + peer.address + "]" : peer.address;
  const std::optional<runtime::Endpoint> address =
      member_address(path + ".address", fmt::format("{}:{}", host, peer.port), false, errors);
  if (!named || !address) return std::nullopt;
  known.address = *address;
  return known;
}

void take_local_peer(const KubeVipSettings& settings, VipPlan& plan, MemberList& members,
                     FieldErrors& errors) {
  if (!settings.local_peer) {
    if (!settings.single_node.value_or(false))
      return errors.push_back(resource::required("localPeer"));
    plan.election.listen = *runtime::Endpoint::parse(kAlone);
    plan.election.own_address = kAlone;
    if (!plan.node.empty())
      members.add(plan.node, "node", plan.election.listen, "localPeer", errors);
    return;
  }
  const std::optional<KnownPeer> peer = check_peer("localPeer", *settings.local_peer, errors);
  if (!peer) return;
  if (!plan.node.empty() && plan.node != peer->name)
    refuse(errors, "localPeer.id", settings.local_peer->id,
           fmt::format("but this node is called {}", plan.node));
  plan.node = peer->name;
  plan.election.listen = peer->address;
  plan.election.own_address = peer->address.to_string();
  members.add(peer->name, "localPeer.id", peer->address, "localPeer.address", errors);
  plan.notes.push_back(fmt::format("localPeer: this node is {}, and listens for its peers on {}",
                                   plan.node, plan.election.own_address));
}

void take_remote_peers(const KubeVipSettings& settings, VipPlan& plan, MemberList& members,
                       FieldErrors& errors) {
  if (settings.remote_peers.empty()) return;
  const bool alone = settings.single_node.value_or(false);
  for (std::size_t i = 0; i < settings.remote_peers.size(); ++i) {
    const std::string path = item("remotePeers", i);
    const std::optional<KnownPeer> peer = check_peer(path, settings.remote_peers[i], errors);
    if (!peer || alone) continue;
    const bool self = peer->name == plan.node && peer->address == plan.election.listen;
    if (!self) members.add(peer->name, path + ".id", peer->address, path + ".address", errors);
  }
  plan.notes.emplace_back(
      alone ? "remotePeers: not used with singleNode"
            : "remotePeers: the members of the election's first start, by UDP; later what the "
              "members agreed on counts, not this list");
}

void take_vip(const KubeVipSettings& settings, const MemberList& members, VipPlan& plan,
              FieldErrors& errors) {
  check_interface("interface", settings.interface, Loopback::refused, errors);
  if (settings.vip.empty()) return errors.push_back(resource::required("vip"));
  const std::optional<Ip> address = vip_address("vip", settings.vip, errors);
  if (!address) return;
  check_not_own("vip", *address, members, plan, errors);
  VipEntry entry;
  entry.vip.address = *address;
  entry.vip.interface = settings.interface;
  if (settings.start_as_leader.value_or(false)) entry.vip.priority = kLeaderPriority;
  plan.vips.push_back(std::move(entry));
  plan.notes.push_back(
      fmt::format("vip: {} is held by one node at a time, enforced in its kernel", settings.vip));
  plan.notes.push_back(
      fmt::format("interface: the holder has the address on {}", settings.interface));
}

void note_switches(const KubeVipSettings& settings, VipPlan& plan) {
  const auto note = [&](const std::optional<bool>& given, const char* field, const char* yes,
                        const char* no) {
    if (given) plan.notes.push_back(fmt::format("{}: {}", field, *given ? yes : no));
  };
  note(settings.gratuitous_arp, "gratuitousARP", "a new holder always announces itself",
       "has no effect: a new holder always announces itself, also to IPv6 neighbours");
  note(settings.single_node, "singleNode", "this node is the only member of its election",
       "the members are localPeer and remotePeers");
  note(settings.start_as_leader, "startAsLeader",
       "this node is preferred as holder (priority 200); it never holds the address without a "
       "majority",
       "no preference");
  const char* nothing = "has no effect, as it had none in kube-vip";
  note(settings.add_peers_as_backends, "addPeersAsBackends", nothing, nothing);
  if (!settings.load_balancers.empty())
    plan.notes.push_back(
        fmt::format("loadBalancers: {} checked, and NOT served: this version has no load "
                    "balancers yet",
                    settings.load_balancers.size()));
}

}  // namespace

std::string node_name_of(std::string_view id) {
  std::string name(id);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return name;
}

void plan_kube_vip(const KubeVipSettings& settings, VipPlan& plan, MemberList& members,
                   FieldErrors& errors) {
  plan.election.settings.timing = check_times({}, Backend::raft, errors);
  take_local_peer(settings, plan, members, errors);
  take_remote_peers(settings, plan, members, errors);
  take_vip(settings, members, plan, errors);
  plan.load_balancers = check_balancers(settings, errors);
  note_switches(settings, plan);
  plan.election.settings.members = members.members();
}

}  // namespace fairlead::vip
