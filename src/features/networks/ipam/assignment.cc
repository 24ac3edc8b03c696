#include "features/networks/ipam/assignment.h"

#include <utility>

#include "features/networks/ipam/mac.h"

namespace fairlead::ipam {
namespace {

// What an attachment asks for in one address family of its subnet.
struct Request {
  const NetworkRecords& networks;
  const AttachmentFacts& attachment;
  const SubnetFacts& subnet;
  const Cidr& block;  // of the subnet, in that family
  const std::string& fixed;
  const std::string& current;
};

Request request(const NetworkRecords& networks, const AttachmentFacts& attachment,
                const SubnetFacts& subnet, bool v4) {
  return {.networks = networks,
          .attachment = attachment,
          .subnet = subnet,
          .block = *subnet.block(v4),
          .fixed = v4 ? attachment.fixed_ipv4 : attachment.fixed_ipv6,
          .current = v4 ? attachment.ipv4 : attachment.ipv6};
}

// What comes of it: an address, or why there is none.
struct Choice {
  std::optional<Assigned> address{};
  std::string error{};
  bool exhausted = false;      // no address is free
  std::optional<Ip> wanted{};  // the one it must have, which somebody else holds
};

// The address, if the attachment holds its lock or it is free.
std::optional<Assigned> claim(const Request& request, const Ip& ip) {
  const Vni vni = request.subnet.vni;
  if (const LockFacts* lock = request.networks.ledger().lock_at(vni, ip)) {
    if (lock->owner != request.attachment.uid) return std::nullopt;
    return Assigned{.ip = ip, .lock_uid = lock->uid};
  }
  if (!request.networks.pool().is_free(vni, ip)) return std::nullopt;
  return Assigned{.ip = ip, .lock_uid = {}, .fresh = true};
}

std::string whose(const LockFacts* lock, const AttachmentFacts& asking) {
  if (lock && !lock->awaits.empty()) return " is not free yet: it was released a moment ago";
  const bool visible = lock && lock->namespace_name == asking.namespace_name;
  return " is taken by " + (visible ? "attachment " + lock->owner_name : "another attachment");
}

Choice give_fixed(const Request& request) {
  const Result<Ip> ip = Ip::parse(request.fixed);
  if (!ip || !is_usable(request.block, *ip))
    return {.error = request.fixed + " is not an address that subnet " + request.subnet.name +
                     " (" + request.block.to_string() + ") can give"};
  if (auto claimed = claim(request, *ip)) return {.address = std::move(claimed)};
  const LockFacts* lock = request.networks.ledger().lock_at(request.subnet.vni, *ip);
  return {.error = request.fixed + whose(lock, request.attachment), .wanted = *ip};
}

std::optional<Assigned> keep_current(const Request& request) {
  if (request.current.empty() || request.attachment.vni != request.subnet.vni) return std::nullopt;
  const Result<Ip> ip = Ip::parse(request.current);
  return ip && is_usable(request.block, *ip) ? claim(request, *ip) : std::nullopt;
}

// Its oldest lock in the subnet. It has several if two controllers once gave it one each: all of
// them choose the same.
std::optional<Assigned> use_own_lock(const Request& request) {
  const LockLedger& ledger = request.networks.ledger();
  const LockFacts* oldest = nullptr;
  for (const std::string& key : ledger.locks_of(request.attachment.uid)) {
    const LockFacts* lock = ledger.lock(key);
    if (lock->vni != request.subnet.vni || lock->deleting) continue;
    if (!is_usable(request.block, lock->ip)) continue;
    if (!oldest || lock->place < oldest->place) oldest = lock;
  }
  if (!oldest) return std::nullopt;
  return Assigned{.ip = oldest->ip, .lock_uid = oldest->uid};
}

Choice pick_free(const Request& request, const RandomBits& random) {
  const auto ip = request.networks.pool().pick(request.subnet.vni, request.block, random);
  if (ip) return {.address = Assigned{.ip = *ip, .lock_uid = {}, .fresh = true}};
  const std::string family = request.block.base().is_v4() ? "IPv4" : "IPv6";
  return {.error = "no " + family + " address available in subnet " + request.subnet.key() + " (" +
                   request.block.to_string() + ")",
          .exhausted = true};
}

Choice choose(const Request& request, const RandomBits& random) {
  if (!request.fixed.empty()) return give_fixed(request);
  if (auto kept = keep_current(request)) return {.address = std::move(kept)};
  if (auto own = use_own_lock(request)) return {.address = std::move(own)};
  return pick_free(request, random);
}

std::vector<std::string> subnet_problem(const AttachmentFacts& attachment,
                                        const SubnetFacts* subnet) {
  if (!subnet) return {"Subnet " + attachment.subnet + " does not exist"};
  if (!subnet->validated) {
    std::string problem = "Subnet " + attachment.subnet + " has not passed validation";
    for (const std::string& error : subnet->errors) problem += ": " + error;
    return {std::move(problem)};
  }
  for (const bool v4 : {true, false}) {
    const std::string& fixed = v4 ? attachment.fixed_ipv4 : attachment.fixed_ipv6;
    if (!fixed.empty() && !subnet->block(v4))
      return {fixed + " cannot be given: subnet " + subnet->name + " has no " +
              (v4 ? "IPv4" : "IPv6") + " block"};
  }
  return {};
}

// An address in each family of the subnet, or none at all and why.
void choose_addresses(const NetworkRecords& networks, const SubnetFacts& subnet,
                      const RandomBits& random, Assignment& assignment) {
  for (const bool v4 : {true, false}) {
    if (!subnet.block(v4)) continue;
    Choice choice = choose(request(networks, assignment.before, subnet, v4), random);
    (v4 ? assignment.ipv4 : assignment.ipv6) = std::move(choice.address);
    if (!choice.error.empty()) assignment.errors.push_back(std::move(choice.error));
    if (choice.exhausted) assignment.exhausted = true;
    if (choice.wanted) assignment.wanted.push_back(*choice.wanted);
  }
  if (assignment.errors.empty()) return;
  assignment.ipv4.reset();
  assignment.ipv6.reset();
}

// Of the locks that it owns: those it uses again, and those it lets go.
void sort_locks(const LockLedger& ledger, Assignment& assignment) {
  for (const std::string& key : ledger.locks_of(assignment.uid)) {
    const LockFacts* lock = ledger.lock(key);
    const auto& used = lock->ip.is_v4() ? assignment.ipv4 : assignment.ipv6;
    const bool uses = used && used->lock_uid == lock->uid;
    if (uses && lock->idle) assignment.idle_locks.push_back(key);
    if (!uses && !lock->deleting) assignment.unused_locks.push_back(key);
  }
}

Mac mac_for(const AddressPool& pool, const Assignment& assignment) {
  if (assignment.ipv4) return mac_for_ipv4(assignment.ipv4->ip);
  const AttachmentFacts& before = assignment.before;
  const bool keeps = before.vni == assignment.vni && before.ipv4.empty() &&
                     before.ipv6 == assignment.ipv6->ip.to_string();
  for (std::uint32_t attempt = 0;; ++attempt) {
    const Mac mac = mac_for_ipv6(assignment.ipv6->ip, attempt);
    if (keeps || pool.mac_is_free(assignment.vni, mac)) return mac;
  }
}

}  // namespace

Assignment decide(const NetworkRecords& networks, const AttachmentFacts& attachment,
                  bool node_known, const RandomBits& random) {
  Assignment assignment{.attachment = attachment.key(),
                        .uid = attachment.uid,
                        .subnet = attachment.subnet_key(),
                        .before = attachment,
                        .errors = {},
                        .unused_locks = {},
                        .idle_locks = {},
                        .wanted = {},
                        .subnet_written = {}};
  const SubnetFacts* subnet = networks.index().subnet(assignment.subnet);
  assignment.errors = subnet_problem(attachment, subnet);
  // Without its subnet it has no address, but keeps the locks: the subnet may come back.
  if (!subnet || !subnet->validated) return assignment;
  if (assignment.errors.empty()) choose_addresses(networks, *subnet, random, assignment);
  sort_locks(networks.ledger(), assignment);
  if (!assignment.ipv4 && !assignment.ipv6) return assignment;
  assignment.vni = subnet->vni;
  assignment.mac = mac_for(networks.pool(), assignment);
  assignment.subnet_written = subnet->spec_written;
  assignment.node_known = node_known;
  return assignment;
}

}  // namespace fairlead::ipam
