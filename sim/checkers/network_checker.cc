#include "sim/checkers/network_checker.h"

#include <fmt/format.h>

#include "api/resource/schema/describe.h"
#include "api/watchcache/stored_object.h"
#include "features/networks/ipam/address_number.h"
#include "features/networks/ipam/network_facts.h"
#include "features/networks/kinds/node_report.h"
#include "features/networks/kinds/test_catalog.h"
#include "foundation/base/check.h"

namespace fairlead::sim {
namespace {

using store::Revision;

const resource::Kind& kind_of(const char* group, const char* version, const char* plural) {
  return *networks::test_catalog().find(group, version, plural);
}

// The object of a change, or nothing if it is of another kind; `key` is then namespace/name.
bool belongs(const store::Change& change, const resource::Kind& kind, std::string& key) {
  const std::string prefix = watchcache::kind_prefix(kind);
  if (!change.current.key.starts_with(prefix)) return false;
  key = change.current.key.substr(prefix.size());
  return true;
}

Json json_of(const resource::Kind& kind, const store::Change& change) {
  const auto object =
      watchcache::decode_stored(kind, change.current.value.view(), change.current.modified);
  CHECK(object.has_value());
  return (*object)->decode();
}

std::optional<Cidr> block_of(const std::string& text) {
  const auto block = Cidr::parse(text);
  return block ? std::optional(*block) : std::nullopt;
}

const std::string& block_text(const networks::SubnetSpec& spec, bool v4) {
  return v4 ? spec.ipv4 : spec.ipv6;
}

bool conflict(const networks::Subnet& one, const networks::Subnet& other) {
  if (one.spec.vni != other.spec.vni) return false;
  if (one.metadata.namespace_ != other.metadata.namespace_) return true;
  for (const bool v4 : {true, false}) {
    const auto a = block_of(block_text(one.spec, v4));
    const auto b = block_of(block_text(other.spec, v4));
    if (a && b && a->overlaps(*b)) return true;
  }
  return false;
}

using Taken = std::set<std::pair<std::uint32_t, Ip>>;

// What the attachment could have of one family, if that is anything; blocks are small.
bool could_have(const networks::NetworkAttachmentSpec& wanted, const networks::SubnetSpec& subnet,
                bool v4, const Taken& taken) {
  const auto block = block_of(block_text(subnet, v4));
  const std::string& fixed = v4 ? wanted.fixed_ipv4 : wanted.fixed_ipv6;
  if (!block) return fixed.empty();
  const ipam::AddressRange range = ipam::usable_range(*block);
  for (ipam::AddressNumber number = range.first; number <= range.last; ++number) {
    const Ip ip = ipam::ip_of(number, v4);
    if (!taken.contains({subnet.vni, ip}) && (fixed.empty() || ip.to_string() == fixed))
      return true;
  }
  return false;
}

// In place of a VNI: those that a report does not name; and the node's own attachments.
const std::string kElsewhere;
const std::string kOwn = "own";

std::set<std::string> split(std::string_view text) {
  std::set<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace

void NetworkChecker::violated(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

void NetworkChecker::take_in(const store::Change& change) {
  static const resource::Kind& subnets = kind_of("fairlead.dev", "v1alpha1", "subnets");
  static const resource::Kind& attachments =
      kind_of("fairlead.dev", "v1alpha1", "networkattachments");
  static const resource::Kind& locks = kind_of("fairlead.dev", "v1alpha1", "iplocks");
  static const resource::Kind& reports = kind_of("fairlead.dev", "v1alpha1", "nodereports");
  const Revision now = change.current.modified.revision;
  std::string key;
  if (belongs(change, subnets, key)) {
    if (change.erased) {
      subnets_.erase(key);
    } else {
      subnets_[key] = *resource::decode<networks::Subnet>(json_of(subnets, change));
    }
  } else if (belongs(change, attachments, key)) {
    if (change.erased) {
      attachments_.erase(key);
    } else {
      auto& attachment = attachments_[key];
      const bool had = attachment.status.address_vni != 0;
      attachment = *resource::decode<networks::NetworkAttachment>(json_of(attachments, change));
      assignments_ += !had && attachment.status.address_vni != 0;
    }
  } else if (belongs(change, locks, key)) {
    if (change.erased) {
      freed(locks_[key], now);
      locks_.erase(key);
      return;
    }
    const Json json = json_of(locks, change);
    const std::size_t slash = key.find('/');
    Lock& lock = locks_[key];
    lock.address = *networks::parse_ip_lock_name(key.substr(slash + 1));
    lock.uid = wire::find_string(json, "metadata.uid");
    lock.owner =
        wire::find_string(wire::find(json, "metadata.ownerReferences")->get_array().front(), "uid");
    const Json* annotations = wire::find(json, "metadata.annotations");
    const Json* awaits =
        annotations ? annotations->get_object().if_contains(ipam::kAwaitsAnnotation) : nullptr;
    if (awaits && lock.released == 0) {
      lock.awaits = split(awaits->get_string());
      lock.node = annotations->get_object().at(ipam::kNodeAnnotation).get_string();
      lock.released = now;
      ++releases_;
      // One whose attachment had lost the address before: nobody was told of it since.
      if (const Json* since = annotations->get_object().if_contains(ipam::kReleasedAnnotation))
        lock.released = std::stoll(std::string(since->get_string()));
      if (lock.released > now) violated("lock " + key + " says that it will be released");
    }
  } else if (belongs(change, reports, key)) {
    applied_.erase(key);
    if (change.erased) {
      report_since_.erase(key);
      return;
    }
    report_since_.emplace(key, now);
    const auto report = resource::decode<networks::NodeReport>(json_of(reports, change));
    auto& applied = applied_[key];
    const auto revision = [](const std::string& version) {
      return store::Place::from_number(version.empty() ? 0 : std::stoull(version)).revision;
    };
    for (const auto& [vni, version] : report->applied) applied[vni] = revision(version);
    applied[kElsewhere] = revision(report->applied_elsewhere);
    applied[kOwn] = revision(report->applied_own);
  }
}

void NetworkChecker::freed(const Lock& lock, Revision now) {
  for (const std::string& node : lock.awaits) {
    const auto reports = applied_.find(node);
    if (reports == applied_.end() || report_since_.at(node) > lock.released) continue;
    auto& applied = reports->second;
    const std::string vni = std::to_string(lock.address.vni);
    const Revision of_others = applied[applied.contains(vni) ? vni : kElsewhere];
    // Who has nothing of its own in the network carries nothing of others there either.
    const bool dropped =
        node == lock.node ? applied[kOwn] >= lock.released
                          : of_others >= lock.released ||
                                !carried_between(node, lock.address.vni,
                                                 std::max(of_others, applied[kOwn]), lock.released);
    if (!dropped)
      violated(fmt::format("{} of network {} was freed at {}, but {} had not dropped it",
                           lock.address.ip.to_string(), lock.address.vni, now, node));
  }
}

void NetworkChecker::take_in(const store::ChangeBatch& batch) {
  for (std::size_t i = 0; i < batch.changes.size(); ++i) {
    take_in(batch.changes[i]);
    const Revision here = batch.changes[i].current.modified.revision;
    const bool whole =
        i + 1 == batch.changes.size() || batch.changes[i + 1].current.modified.revision != here;
    if (!whole) continue;
    count_attachments(here);
    check_addresses();
    check_subnets();
  }
}

void NetworkChecker::count_attachments(Revision now) {
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> counts;
  for (const auto& [key, attachment] : attachments_)
    if (attachment.status.address_vni != 0)
      ++counts[{attachment.spec.node, attachment.status.address_vni}];
  for (const auto& [where, count] : counts) carried_[where][now] = count;
  for (auto& [where, history] : carried_)
    if (!counts.contains(where)) history[now] = 0;
}

bool NetworkChecker::carried_between(const std::string& node, std::uint32_t vni, Revision from,
                                     Revision to) const {
  const auto history = carried_.find({node, vni});
  if (history == carried_.end()) return false;
  auto at = history->second.upper_bound(from);
  if (at != history->second.begin() && std::prev(at)->second > 0) return true;
  for (; at != history->second.end() && at->first < to; ++at)
    if (at->second > 0) return true;
  return false;
}

void NetworkChecker::check_addresses() {
  std::map<std::pair<std::uint32_t, std::string>, std::string> owners;
  std::map<std::pair<std::uint32_t, std::string>, std::string> macs;
  for (const auto& [key, attachment] : attachments_) {
    const networks::NetworkAttachmentStatus& status = attachment.status;
    if (status.address_vni == 0) continue;
    for (const auto& [ip, lock_uid] :
         {std::pair(status.ipv4, status.lock_uid), std::pair(status.ipv6, status.ipv6_lock_uid)}) {
      if (ip.empty()) continue;
      const auto [other, first] = owners.emplace(std::pair(status.address_vni, ip), key);
      if (!first) violated(ip + " belongs to " + key + " and to " + other->second);
      const std::string lock_key = attachment.metadata.namespace_ + "/" +
                                   networks::ip_lock_name(status.address_vni, *Ip::parse(ip));
      const auto lock = locks_.find(lock_key);
      if (lock == locks_.end() || lock->second.owner != attachment.metadata.uid ||
          lock->second.uid != lock_uid || lock->second.released != 0)
        violated(ip + " of " + key + " is not locked by it");
    }
    const auto [other, first] =
        macs.emplace(std::pair(status.address_vni, status.mac_address), key);
    if (!first) violated(status.mac_address + " belongs to " + key + " and to " + other->second);
  }
}

void NetworkChecker::check_subnets() {
  for (const auto& [key, subnet] : subnets_) {
    if (!subnet.status.validated) continue;
    for (const auto& [other_key, other] : subnets_) {
      if (other_key > key && other.status.validated && conflict(subnet, other))
        violated("subnets " + key + " and " + other_key + " conflict and are both validated");
    }
    if (const std::string holder = other_holder(subnet); !holder.empty())
      violated("subnet " + key + " is validated while " + holder + " is locked in its network");
  }
}

// A lock of another namespace in the subnet's network; empty: there is none.
std::string NetworkChecker::other_holder(const networks::Subnet& subnet) const {
  for (const auto& [key, lock] : locks_)
    if (lock.address.vni == subnet.spec.vni &&
        key.substr(0, key.find('/')) != subnet.metadata.namespace_)
      return key;
  return {};
}

void NetworkChecker::rest() {
  for (const auto& [key, lock] : locks_) {
    bool used = false;
    for (const auto& [name, attachment] : attachments_) {
      if (attachment.metadata.uid != lock.owner) continue;
      const auto subnet =
          subnets_.find(attachment.metadata.namespace_ + "/" + attachment.spec.subnet);
      const bool usable = subnet != subnets_.end() && subnet->second.status.validated;
      used = !usable || attachment.status.ipv4 == lock.address.ip.to_string() ||
             attachment.status.ipv6 == lock.address.ip.to_string();
    }
    if (used) continue;
    std::string awaited;
    for (const std::string& node : lock.awaits) {
      const auto reports = applied_.find(node);
      awaited +=
          fmt::format(" {} ({})", node,
                      reports == applied_.end()
                          ? "gone"
                          : std::to_string(reports->second[std::to_string(lock.address.vni)]));
    }
    violated(fmt::format("lock {} of {} is nobody's; released at {}, awaits{}", key, lock.owner,
                         lock.released, awaited));
  }
  Taken taken;  // in any namespace: networks may have moved
  for (const auto& [key, lock] : locks_) taken.emplace(lock.address.vni, lock.address.ip);
  for (const auto& [key, attachment] : attachments_) {
    const auto subnet =
        subnets_.find(attachment.metadata.namespace_ + "/" + attachment.spec.subnet);
    const bool usable = subnet != subnets_.end() && subnet->second.status.validated;
    const bool addressed = attachment.status.address_vni != 0;
    if (!usable && addressed) violated(key + " has an address of a subnet that gives none");
    if (!usable || addressed) continue;
    const networks::SubnetSpec& spec = subnet->second.spec;
    if (could_have(attachment.spec, spec, true, taken) &&
        could_have(attachment.spec, spec, false, taken))
      return violated(
          fmt::format("{} waits, and what it wants of network {} is free", key, spec.vni));
  }
  for (const auto& [key, subnet] : subnets_) {
    bool in_the_way = !other_holder(subnet).empty();
    for (const auto& [other_key, other] : subnets_)
      in_the_way = in_the_way || (other.status.validated && conflict(subnet, other));
    if (!subnet.status.validated && !in_the_way) violated("subnet " + key + " waits for nobody");
  }
}

}  // namespace fairlead::sim
