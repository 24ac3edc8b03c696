#include "features/networks/ipam/subnet_interlock.h"

#include <algorithm>
#include <utility>

#include "api/store/transaction.h"
#include "features/networks/ipam/interlock_support.h"

namespace fairlead::ipam {

using apimachinery::refuse;
using apiserver::Answer;

namespace {

// Those beyond follow one by one (AddressController looks after them): a transaction has its
// limits.
constexpr std::size_t kMostFollowers = 100;

Vni vni_of(const Json& subnet) {
  const Json* vni = wire::find(subnet, "spec.vni");
  return vni && vni->is_number() ? vni->to_number<Vni>() : 0;
}

std::optional<Cidr> block_at(const Json& subnet, std::string_view path) {
  const Result<Cidr> block = Cidr::parse(wire::find_string(subnet, path));
  return block ? std::optional(*block) : std::nullopt;
}

void set_status(const resource::Kind& kind, Json& subnet, bool validated,
                const std::vector<std::string>& errors, resource::Moment now) {
  const Json before = subnet;
  JsonObject status;
  status["validated"] = validated;
  if (!errors.empty()) status["errors"] = JsonArray(errors.begin(), errors.end());
  subnet.get_object()["status"] = std::move(status);
  kind.prepare(subnet, &before, resource::Write::update_status, now);
}

bool is_validated(const Json& subnet) {
  const Json* validated = wire::find(subnet, "status.validated");
  return validated && validated->is_bool() && validated->get_bool();
}

}  // namespace

Answer<> SubnetInterlock::admit(const Proposal& proposal, store::Transaction& transaction) {
  if (&proposal.kind != &networks_.subnets()) return {};
  if (!proposal.desired)
    return is_validated(*proposal.live) ? let_others_follow(proposal, transaction) : Answer<>{};
  if (!proposal.live) return judge(proposal, transaction);
  const Json* status = wire::find(*proposal.live, "status");
  if (status) proposal.desired->get_object()["status"] = *status;
  // Only the server itself asks for another look at one that waits.
  const bool again = !proposal.attributes && !is_validated(*proposal.live);
  return again ? judge(proposal, transaction) : Answer<>{};
}

Answer<> SubnetInterlock::judge(const Proposal& proposal, store::Transaction& transaction) {
  Json& desired = *proposal.desired;
  const SubnetFacts subnet{.namespace_name = std::string(proposal.namespace_name),
                           .name = std::string(proposal.name),
                           .uid = {},
                           .vni = vni_of(desired),
                           .ipv4 = block_at(desired, "spec.ipv4"),
                           .ipv6 = block_at(desired, "spec.ipv6"),
                           .errors = {}};
  std::vector<SubnetFacts> others = networks_.index().subnets_of(subnet.vni);
  std::erase_if(others, [&](const SubnetFacts& other) { return other.key() == subnet.key(); });
  const std::vector<std::string> errors =
      conflicts(subnet, others, networks_.ledger().namespaces_holding(subnet.vni));
  set_status(proposal.kind, desired, errors.empty(), errors, runtime_.wall_now());
  return guard(proposal, subnet.vni, transaction);
}

Answer<> SubnetInterlock::let_others_follow(const Proposal& proposal,
                                            store::Transaction& transaction) {
  const Vni vni = vni_of(*proposal.live);
  if (Answer<> guarded = guard(proposal, vni, transaction); !guarded) return guarded;
  const std::string key = std::string(proposal.namespace_name) + "/" + std::string(proposal.name);
  std::vector<SubnetFacts> others = networks_.index().subnets_of(vni);
  std::erase_if(others, [&](const SubnetFacts& other) { return other.key() == key; });
  // Addresses that this server has not seen yet may have been given until now: whether the network
  // is free for another namespace is decided when the Subnet is gone (AddressController).
  std::set<std::string> holders = networks_.ledger().namespaces_holding(vni);
  holders.emplace(proposal.namespace_name);
  std::vector<Judgement> judgements = judge_again(std::move(others), holders);
  if (judgements.size() > kMostFollowers) judgements.resize(kMostFollowers);
  for (const Judgement& judgement : judgements) {
    const watchcache::ObjectRef object = networks_.cache().of(proposal.kind).find(judgement.key);
    Json follower = object->decode();
    set_status(proposal.kind, follower, judgement.validated, judgement.errors, runtime_.wall_now());
    std::string follower_key =
        watchcache::store_key(proposal.kind, object->namespace_name, object->name);
    transaction.compares.push_back({follower_key, object->place.revision});
    transaction.operations.push_back({store::Operation::Kind::put, std::move(follower_key),
                                      watchcache::encode_stored(follower)});
  }
  return {};
}

Answer<> SubnetInterlock::guard(const Proposal& proposal, Vni vni,
                                store::Transaction& transaction) {
  const std::string name = "vni/" + std::to_string(vni);
  std::string key = watchcache::WatchCache::guard_key(name);
  if (store::operates_on(transaction, key))
    return refuse(apimachinery::bad_request(
        "a transaction may change only one subnet of virtual network " + std::to_string(vni) +
        "; subnet \"" + std::string(proposal.name) + "\" is the second"));
  transaction.compares.push_back({key, networks_.cache().guard_revision(name)});
  transaction.operations.push_back(
      {store::Operation::Kind::put, std::move(key), Bytes(std::string("1"))});
  return {};
}

}  // namespace fairlead::ipam
