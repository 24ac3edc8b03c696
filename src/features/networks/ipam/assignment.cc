#include "features/networks/ipam/assignment.h"

#include <algorithm>

#include "features/networks/ipam/mac.h"

namespace fairlead::ipam {
namespace {

// One family of one attachment.
class Choice {
 public:
  Choice(NetworkIndex& index, const AttachmentFacts& attachment, const SubnetFacts& subnet, bool v4,
         Assignment& assignment)
      : index_(index),
        attachment_(attachment),
        subnet_(subnet),
        block_(*subnet.block(v4)),
        v4_(v4),
        assignment_(assignment) {}

  std::optional<Assigned> make(const RandomBits& random) {
    const std::string& fixed = v4_ ? attachment_.fixed_ipv4 : attachment_.fixed_ipv6;
    if (!fixed.empty()) return honour(fixed);
    if (auto kept = keep()) return kept;
    if (auto owned = use_own_lock()) return owned;
    return pick(random);
  }

 private:
  bool usable(const Ip& ip) const {
    if (ip.is_v4() != v4_ || !block_.contains(ip)) return false;
    const AddressRange range = usable_range(block_);
    const AddressNumber number = number_of(ip);
    return number >= range.first && number <= range.last;
  }

  // Ours, or free to be made ours.
  std::optional<Assigned> claim(const Ip& ip) {
    const LockFacts* lock = index_.lock_at(subnet_.vni, ip);
    if (lock && lock->owner == attachment_.uid) return Assigned{.ip = ip, .lock_uid = lock->uid};
    if (lock) return std::nullopt;
    if (!index_.taken(subnet_.vni, v4_).take(number_of(ip))) return std::nullopt;
    return Assigned{.ip = ip, .lock_uid = {}, .reserved = true};
  }

  std::optional<Assigned> honour(const std::string& fixed) {
    const Result<Ip> ip = Ip::parse(fixed);
    if (!ip || !usable(*ip)) {
      assignment_.errors.push_back(fixed + " is not an address that subnet " + subnet_.name + " (" +
                                   block_.to_string() + ") can give");
      return std::nullopt;
    }
    if (auto claimed = claim(*ip)) return claimed;
    assignment_.errors.push_back(fixed + whose(index_.lock_at(subnet_.vni, *ip)));
    assignment_.wanted.push_back(*ip);
    return std::nullopt;
  }

  std::string whose(const LockFacts* lock) const {
    if (lock && !lock->awaits.empty()) return " is not free yet: it was released a moment ago";
    const bool visible = lock && lock->namespace_name == attachment_.namespace_name;
    return " is taken by " + (visible ? "attachment " + lock->owner_name : "another attachment");
  }

  std::optional<Assigned> keep() {
    const std::string& current = v4_ ? attachment_.ipv4 : attachment_.ipv6;
    if (current.empty() || attachment_.vni != subnet_.vni) return std::nullopt;
    const Result<Ip> ip = Ip::parse(current);
    return ip && usable(*ip) ? claim(*ip) : std::nullopt;
  }

  // Several, if two controllers once gave one each: all of them choose the same.
  std::optional<Assigned> use_own_lock() const {
    const LockFacts* best = nullptr;
    for (const std::string& key : index_.locks_of(attachment_.uid)) {
      const LockFacts* lock = index_.lock(key);
      if (lock->vni != subnet_.vni || lock->deleting || !usable(lock->ip)) continue;
      if (!best || lock->place < best->place) best = lock;
    }
    if (!best) return std::nullopt;
    return Assigned{.ip = best->ip, .lock_uid = best->uid};
  }

  std::optional<Assigned> pick(const RandomBits& random) {
    AddressSet& taken = index_.taken(subnet_.vni, v4_);
    const auto address = taken.pick(usable_range(block_), random);
    if (!address) {
      assignment_.errors.push_back("no " + std::string(v4_ ? "IPv4" : "IPv6") +
                                   " address available in subnet " + subnet_.key() + " (" +
                                   block_.to_string() + ")");
      assignment_.exhausted = true;
      return std::nullopt;
    }
    taken.take(*address);
    return Assigned{.ip = ip_of(*address, v4_), .lock_uid = {}, .reserved = true};
  }

  NetworkIndex& index_;
  const AttachmentFacts& attachment_;
  const SubnetFacts& subnet_;
  const Cidr& block_;
  bool v4_;
  Assignment& assignment_;
};

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

Mac mac_for(const NetworkIndex& index, const Assignment& assignment,
            const AttachmentFacts& attachment) {
  if (assignment.ipv4) return mac_for_ipv4(assignment.ipv4->ip);
  const bool keeps = attachment.vni == assignment.vni && attachment.ipv4.empty() &&
                     attachment.ipv6 == assignment.ipv6->ip.to_string();
  for (std::uint32_t attempt = 0;; ++attempt) {
    const Mac mac = mac_for_ipv6(assignment.ipv6->ip, attempt);
    if (keeps || !index.mac_taken(assignment.vni, mac)) return mac;
  }
}

}  // namespace

Assignment decide(NetworkIndex& index, const AttachmentFacts& attachment,
                  const RandomBits& random) {
  Assignment assignment{.attachment = attachment.key(),
                        .uid = attachment.uid,
                        .subnet = attachment.subnet_key(),
                        .before = attachment,
                        .errors = {},
                        .unused_locks = {},
                        .idle_locks = {},
                        .wanted = {},
                        .subnet_written = {}};
  const SubnetFacts* subnet = index.subnet(assignment.subnet);
  assignment.errors = subnet_problem(attachment, subnet);
  // Without its subnet it has no address, but keeps the locks: the subnet may come back.
  if (!subnet || !subnet->validated) return assignment;
  if (assignment.errors.empty()) {
    if (subnet->ipv4)
      assignment.ipv4 = Choice(index, attachment, *subnet, true, assignment).make(random);
    if (subnet->ipv6)
      assignment.ipv6 = Choice(index, attachment, *subnet, false, assignment).make(random);
  }
  // All that was asked for, or nothing.
  if (!assignment.errors.empty()) {
    unreserve(index, assignment);
    assignment.ipv4.reset();
    assignment.ipv6.reset();
  }
  for (const std::string& key : index.locks_of(attachment.uid)) {
    const LockFacts* lock = index.lock(key);
    const auto& used = lock->ip.is_v4() ? assignment.ipv4 : assignment.ipv6;
    const bool uses = used && used->lock_uid == lock->uid;
    if (uses && lock->idle) assignment.idle_locks.push_back(key);
    if (!uses && !lock->deleting) assignment.unused_locks.push_back(key);
  }
  if (assignment.ipv4 || assignment.ipv6) {
    assignment.vni = subnet->vni;
    assignment.mac = mac_for(index, assignment, attachment);
    assignment.subnet_written = subnet->spec_written;
    assignment.node_known = index.cache().of(index.reports()).find(attachment.node) != nullptr;
  }
  return assignment;
}

void unreserve(NetworkIndex& index, const Assignment& assignment) {
  const SubnetFacts* subnet = index.subnet(assignment.subnet);
  const Vni vni = assignment.vni != 0 ? assignment.vni : subnet ? subnet->vni : 0;
  for (const auto* part : {&assignment.ipv4, &assignment.ipv6}) {
    if (!*part || !(*part)->reserved || index.lock_at(vni, (*part)->ip)) continue;
    index.taken(vni, (*part)->ip.is_v4()).release(number_of((*part)->ip));
  }
}

}  // namespace fairlead::ipam
