#include "features/vip/config/election_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/identity/user.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kMostMembers = 15;
constexpr Duration kShortestDefaultMargin = 20ms;
constexpr Duration kShortestDefaultRenew = 5ms;

Duration default_lease(Backend backend) {
  switch (backend) {
    case Backend::raft:
      return 300ms;
    case Backend::etcd:
      return 3s;
    case Backend::kubernetes:
      return 6s;
  }
  return 300ms;
}

Duration shortest_lease(Backend backend) {
  switch (backend) {
    case Backend::raft:
      return Duration::zero();  // timing_problem() says it
    case Backend::etcd:
      return kShortestEtcdLease;
    case Backend::kubernetes:
      return kShortestKubernetesLease;
  }
  return Duration::zero();
}

Backend backend_of(const std::string& name) {
  if (name == "etcd") return Backend::etcd;
  return name == "kubernetes" ? Backend::kubernetes : Backend::raft;
}

void forbid(bool given, const std::string& field, const char* back_end, FieldErrors& errors) {
  if (given)
    errors.push_back(
        resource::forbidden("election." + field, fmt::format("only with backend {}", back_end)));
}

bool is_anywhere(const runtime::Endpoint& endpoint) {
  const Result<Ip> ip = Ip::parse(endpoint.host);
  return ip && (*ip == Ip() || *ip == Ip::v6({}));
}

// The rules of `listen` and `peers`, one peer after the other.
class Peers {
 public:
  Peers(VipPlan& plan, MemberList& members, FieldErrors& errors)
      : plan_(plan), members_(members), errors_(errors) {}

  void check(const ElectionSettings& settings) {
    if (settings.listen.empty()) {
      errors_.push_back(resource::required("election.listen"));
      return;
    }
    const std::optional<runtime::Endpoint> listen =
        member_address("election.listen", settings.listen, true, errors_);
    if (!listen) return;
    plan_.election.listen = *listen;
    for (std::size_t i = 0; i < settings.peers.size(); ++i)
      check_one(item("election.peers", i), settings.peers[i]);
    std::string& own = plan_.election.own_address;
    if (own.empty() && is_anywhere(*listen))
      return refuse(
          errors_, "election.listen", settings.listen,
          "must be an address of this node, unless node is given and peers list it with its "
          "address");
    if (!own.empty()) return;  // it is among the peers
    own = listen->to_string();
    if (!plan_.node.empty()) members_.add(plan_.node, "node", *listen, "election.listen", errors_);
  }

 private:
  void check_one(const std::string& path, const PeerSettings& peer) {
    if (!identity::is_node_name(peer.name))
      refuse(errors_, path + ".name", peer.name, "is not a valid node name");
    const std::optional<runtime::Endpoint> address =
        member_address(path + ".address", peer.address, false, errors_);
    if (!address) return;
    const runtime::Endpoint& listen = plan_.election.listen;
    const bool same_address = *address == listen;
    if (plan_.node.empty() && same_address) plan_.node = peer.name;
    const bool same_name = peer.name == plan_.node;
    if (same_address && !same_name)
      return refuse(
          errors_, path + ".name", peer.name,
          fmt::format("has this node's own address, but this node is called {}", plan_.node));
    if (same_name && !same_address && !is_anywhere(listen))
      return refuse(errors_, path + ".address", peer.address,
                    fmt::format("is not where this node listens ({})", listen.to_string()));
    members_.add(peer.name, path + ".name", *address, path + ".address", errors_);
    if (same_name) plan_.election.own_address = address->to_string();
  }

  VipPlan& plan_;
  MemberList& members_;
  FieldErrors& errors_;
};

void check_raft(const ElectionSettings& settings, VipPlan& plan, MemberList& members,
                FieldErrors& errors) {
  Peers(plan, members, errors).check(settings);
  plan.election.secret_file = settings.secret_file;
  plan.election.tls = tls_files("election.tls", settings.tls.ca, settings.tls.certificate,
                                settings.tls.key, errors);
  if (!settings.secret_file.empty() && !plan.election.tls.empty())
    errors.push_back(resource::forbidden("election.secretFile",
                                         "only one of secretFile and tls may be given, not both"));
  const std::size_t count = members.size() + (plan.node.empty() ? 1 : 0);
  if (count > kMostMembers)
    errors.push_back(resource::too_many("election.peers", count, kMostMembers));
}

void check_etcd(const EtcdSettings& settings, VipPlan& plan, FieldErrors& errors) {
  if (settings.endpoints.empty()) errors.push_back(resource::required("election.etcd.endpoints"));
  for (std::size_t i = 0; i < settings.endpoints.size(); ++i) {
    const std::string path = item("election.etcd.endpoints", i);
    const Result<WebAddress> address = parse_web_address(settings.endpoints[i]);
    if (!address)
      refuse(errors, path, settings.endpoints[i], address.error().message);
    else if (address->path != "/")
      refuse(errors, path, settings.endpoints[i], "must not have a path");
  }
  plan.election.etcd_endpoints = settings.endpoints;
  plan.election.etcd_prefix = settings.prefix.empty() ? "/fairlead-vip/" : settings.prefix;
  if (!plan.election.etcd_prefix.ends_with('/'))
    refuse(errors, "election.etcd.prefix", settings.prefix, "must end with /");
  plan.election.etcd_tls = tls_files("election.etcd.tls", settings.tls.ca, settings.tls.certificate,
                                     settings.tls.key, errors);
}

void check_kubernetes(const KubernetesSettings& settings, const AgentApi& api, VipPlan& plan,
                      FieldErrors& errors) {
  std::string& kubeconfig = plan.election.kubeconfig;
  kubeconfig = settings.kubeconfig.empty() ? api.kubeconfig : settings.kubeconfig;
  if (kubeconfig.empty() && !api.join_dir.empty()) kubeconfig = api.join_dir + "/node.kubeconfig";
  if (kubeconfig.empty()) errors.push_back(resource::required("election.kubernetes.kubeconfig"));
  plan.election.lease_namespace =
      settings.lease_namespace.empty() ? "kube-system" : settings.lease_namespace;
}

}  // namespace

Timing check_times(const TimeTexts& texts, Backend backend, FieldErrors& errors) {
  const std::size_t before = errors.size();
  const auto read = [&](const char* field, const std::string& text, Duration otherwise) {
    if (text.empty()) return otherwise;
    return duration_field(std::string("election.") + field, text, 0ms, 1h, errors);
  };
  Timing timing{.drift_ppm = texts.drift_ppm};
  timing.lease = read("lease", texts.lease, default_lease(backend));
  const Duration renew = timing.lease / (backend == Backend::raft ? 10 : 4);
  timing.renew = read("renew", texts.renew, std::max(renew, kShortestDefaultRenew));
  timing.margin =
      read("margin", texts.margin, std::max<Duration>(timing.lease / 15, kShortestDefaultMargin));
  if (errors.size() > before) return timing;
  if (const std::optional<TimingProblem> problem = timing_problem(timing))
    refuse(errors, "election." + problem->field, problem->value, problem->reason);
  if (timing.lease < shortest_lease(backend))
    refuse(errors, "election.lease", texts.lease,
           fmt::format("must be at least {}s with this back end", shortest_lease(backend) / 1s));
  return timing;
}

void check_election(const ElectionSettings& settings, const AgentApi& api, VipPlan& plan,
                    MemberList& members, FieldErrors& errors) {
  ElectionConfig& election = plan.election;
  election.backend = backend_of(settings.backend);
  election.settings.timing = check_times({.lease = settings.lease,
                                          .renew = settings.renew,
                                          .margin = settings.margin,
                                          .drift_ppm = settings.drift_ppm},
                                         election.backend, errors);
  election.keep_without_quorum = settings.quorum_loss == "keep";
  election.allow_weaker_fence = settings.fence == "besteffort";
  election.without_fence = settings.fence == "none";
  election.witness = settings.witness;
  if (election.backend == Backend::raft) {
    check_raft(settings, plan, members, errors);
  } else {
    forbid(!settings.listen.empty(), "listen", "raft", errors);
    forbid(!settings.peers.empty(), "peers", "raft", errors);
    forbid(!settings.secret_file.empty(), "secretFile", "raft", errors);
    const TlsSettings& tls = settings.tls;
    forbid(!tls.ca.empty() || !tls.certificate.empty() || !tls.key.empty(), "tls", "raft", errors);
  }
  if (election.backend == Backend::etcd)
    check_etcd(settings.etcd, plan, errors);
  else
    forbid(!settings.etcd.endpoints.empty(), "etcd.endpoints", "etcd", errors);
  if (election.backend == Backend::kubernetes)
    check_kubernetes(settings.kubernetes, api, plan, errors);
  else
    forbid(!settings.kubernetes.kubeconfig.empty(), "kubernetes.kubeconfig", "kubernetes", errors);
  election.settings.members = members.members();
}

void note_weaknesses(VipPlan& plan, std::size_t members) {
  const ElectionConfig& election = plan.election;
  if (election.keep_without_quorum)
    plan.notes.emplace_back(
        "election.quorumLoss: keep gives up the promise that no two nodes answer for one address");
  if (election.allow_weaker_fence)
    plan.notes.emplace_back(
        "election.fence: besteffort: where the kernel cannot silence this host, a node that hangs "
        "may answer together with its successor");
  if (election.without_fence)
    plan.notes.emplace_back(
        "election.fence: none: a node that hangs or is killed answers together with its successor");
  if (election.backend != Backend::raft || members < 2) return;
  if (election.secret_file.empty() && election.tls.empty())
    plan.notes.emplace_back(
        "peers are not authenticated: whoever reaches the election's port can speak as any of "
        "them; set election.secretFile or election.tls");
  if (members == 2)
    plan.notes.emplace_back(
        "the election has two members: when one fails, the other has no majority and releases "
        "its virtual IPs; add a witness on a third machine");
}

}  // namespace fairlead::vip
