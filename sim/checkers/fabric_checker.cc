#include "sim/checkers/fabric_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/resource/columns.h"
#include "api/resource/schema/describe.h"
#include "api/watchcache/stored_object.h"
#include "features/networks/kinds/test_catalog.h"
#include "foundation/base/check.h"
#include "node/fabric/names.h"

namespace fairlead::sim {
namespace {

using networks::NetworkAttachment;
using networks::NetworkAttachmentStatus;

// What HostPlane::disturb leaves; and what it spoils has no MAC any more.
constexpr std::string_view kStray = "stray-";

Json decoded(const resource::Kind& kind, const store::Change& change) {
  const auto object =
      watchcache::decode_stored(kind, change.current.value.view(), change.current.modified);
  CHECK(object.has_value());
  return (*object)->decode();
}

std::set<std::pair<fabric::Vni, Ip>> addresses_of(const NetworkAttachmentStatus& status) {
  std::set<std::pair<fabric::Vni, Ip>> addresses;
  for (const std::string& text : {status.ipv4, status.ipv6})
    if (const Result<Ip> ip = Ip::parse(text)) addresses.emplace(status.address_vni, *ip);
  return addresses;
}

// As a fabric is to carry it; nothing while something is missing.
std::optional<fabric::Station> station_of(const NetworkAttachment& attachment,
                                          const std::string& node) {
  const NetworkAttachmentStatus& status = attachment.status;
  const Result<Mac> mac = Mac::parse(status.mac_address);
  if (status.address_vni == 0 || !mac) return std::nullopt;
  fabric::Station station{
      .id = attachment.metadata.uid, .vni = status.address_vni, .mac = *mac, .addresses = {}};
  for (const std::string& text : {status.ipv4, status.ipv6})
    if (const Result<Ip> ip = Ip::parse(text)) station.addresses.push_back(*ip);
  if (station.addresses.empty()) return std::nullopt;
  if (attachment.spec.node == node) {
    station.interface = fabric::guest_interface_name(station.id);
  } else if (const Result<Ip> host = Ip::parse(status.host_ip)) {
    station.host = *host;
  } else {
    return std::nullopt;
  }
  return station;
}

}  // namespace

void FabricChecker::add_host(HostPlane& plane, Ip address) {
  hosts_[plane.node()] = {.plane = &plane, .address = address, .carried = {}};
}

void FabricChecker::disown(const std::string& uid, store::Revision now) {
  for (const Address& address : std::exchange(owned_[uid], {})) {
    owners_.erase(address);
    released_[{address, uid}] = now;
  }
}

void FabricChecker::own(const std::string& uid, const NetworkAttachmentStatus& status,
                        store::Revision now) {
  const std::set<Address> addresses = addresses_of(status);
  if (owned_[uid] == addresses) return;
  disown(uid, now);
  owned_[uid] = addresses;
  for (const Address& address : addresses) {
    owners_[address] = uid;
    std::string& last = last_owners_[address];
    if (!last.empty() && last != uid) {
      ++reused_;
      reused_after_carrying_ += std::ranges::any_of(
          hosts_, [&](const auto& host) { return host.second.carried.contains({address, last}); });
    }
    last = uid;
  }
}

void FabricChecker::violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

void FabricChecker::take_in_report(const std::string& node, const store::Change& change) {
  static const resource::Kind& kind =
      *networks::test_catalog().find("fairlead.dev", "v1alpha1", "nodereports");
  Report& report = reports_[node];
  if (!change.erased) {
    if (!report.since) report.since = change.current.modified.revision;
    const Json object = decoded(kind, change);
    const JsonArray& owners = resource::items_at(object, "metadata.ownerReferences");
    report.owner = owners.empty() ? "" : wire::find_string(owners.front(), "uid");
    return;
  }
  if (!report.node.empty() && report.node == report.owner)
    violate(fmt::format("the NodeReport of {} was deleted although its Node is there", node));
  report.since.reset();
  if (const auto host = hosts_.find(node); host != hosts_.end())
    report.erased_boot = host->second.plane->machine().boot();
}

void FabricChecker::take_in_node(const std::string& node, const store::Change& change) {
  static const resource::Kind& kind = *networks::test_catalog().find("", "v1", "nodes");
  std::string& uid = reports_[node].node;
  uid = change.erased ? "" : wire::find_string(decoded(kind, change), "metadata.uid");
}

// An agent whose report was deleted under it carries on until it notices; one that starts without
// a report makes one first.
bool FabricChecker::may_carry(const HostPlane& plane) const {
  const auto at = reports_.find(plane.node());
  if (at == reports_.end()) return false;
  const Report& report = at->second;
  return report.since || report.erased_boot == plane.machine().boot();
}

bool FabricChecker::excused(const HostPlane& plane, std::optional<store::Revision> released) const {
  const auto at = reports_.find(plane.node());
  if (at == reports_.end() || !at->second.erased_boot) return false;
  return !at->second.since || (released && *at->second.since > *released);
}

void FabricChecker::take_in(const store::Change& change) {
  static const resource::Kind& attachments =
      *networks::test_catalog().find("fairlead.dev", "v1alpha1", "networkattachments");
  static const resource::Kind& reports =
      *networks::test_catalog().find("fairlead.dev", "v1alpha1", "nodereports");
  static const resource::Kind& nodes = *networks::test_catalog().find("", "v1", "nodes");
  static const std::string attachment_prefix = watchcache::kind_prefix(attachments);
  static const std::string report_prefix = watchcache::kind_prefix(reports);
  static const std::string node_prefix = watchcache::kind_prefix(nodes);
  const store::Revision now = change.current.modified.revision;
  if (change.current.key.starts_with(report_prefix))
    take_in_report(change.current.key.substr(report_prefix.size()), change);
  if (change.current.key.starts_with(node_prefix))
    take_in_node(change.current.key.substr(node_prefix.size()), change);
  if (!change.current.key.starts_with(attachment_prefix)) return;
  const std::string key = change.current.key.substr(attachment_prefix.size());
  if (change.erased) {
    const auto at = attachments_.find(key);
    CHECK(at != attachments_.end());
    disown(at->second.metadata.uid, now);
    attachments_.erase(at);
    return;
  }
  NetworkAttachment& attachment = attachments_[key];
  attachment = *resource::decode<NetworkAttachment>(decoded(attachments, change));
  own(attachment.metadata.uid, attachment.status, now);
}

void FabricChecker::take_in(const store::ChangeBatch& batch) {
  for (const store::Change& change : batch.changes) take_in(change);
  for (const auto& [node, host] : hosts_)
    for (const auto& [id, station] : host.plane->stations()) judge(*host.plane, station);
}

void FabricChecker::carried(const HostPlane& plane, const fabric::Station& station) {
  const bool by_agent = !station.id.starts_with(kStray) && station.mac != Mac{};
  if (by_agent && !may_carry(plane))
    violate(fmt::format("{} has no NodeReport and begins to carry {}", plane.node(), station.id));
  for (const Ip& ip : station.addresses)
    hosts_.at(plane.node()).carried.insert({{station.vni, ip}, station.id});
  judge(plane, station);
}

void FabricChecker::judge(const HostPlane& plane, const fabric::Station& station) {
  if (!violation_.empty() || station.id.starts_with(kStray)) return;
  for (const Ip& ip : station.addresses) {
    const Address address(station.vni, ip);
    const auto owner = owners_.find(address);
    if (owner == owners_.end() || owner->second == station.id) continue;
    const auto released = released_.find({address, station.id});
    if (excused(plane,
                released == released_.end() ? std::nullopt : std::optional(released->second))) {
      ++excused_;
      continue;
    }
    violate(fmt::format(
        "{} of network {} belongs to {}, but {} forwards it {} for {}, which lost it at {}",
        ip.to_string(), station.vni, owner->second, plane.node(),
        station.local() ? "to " + station.interface : "to host " + station.host.to_string(),
        station.id, released == released_.end() ? 0 : released->second));
  }
}

fabric::Desired FabricChecker::plan(const std::string& node) const {
  std::set<std::pair<std::string, fabric::Vni>> relevant;
  for (const auto& [key, attachment] : attachments_)
    if (attachment.spec.node == node && attachment.status.address_vni != 0)
      relevant.emplace(attachment.metadata.namespace_, attachment.status.address_vni);
  fabric::Desired planned;
  for (const auto& [key, attachment] : attachments_) {
    if (!relevant.contains({attachment.metadata.namespace_, attachment.status.address_vni}))
      continue;
    if (std::optional<fabric::Station> station = station_of(attachment, node))
      planned.emplace(station->id, std::move(*station));
  }
  return planned;
}

void FabricChecker::check_status(const NetworkAttachment& attachment, const Host& host,
                                 Violations& violations) const {
  const NetworkAttachmentStatus& status = attachment.status;
  const bool made = status.address_vni != 0;
  const std::string interface =
      made ? fabric::guest_interface_name(attachment.metadata.uid) : std::string();
  const std::string address = made ? host.address.to_string() : std::string();
  const std::string who = fmt::format("{} ({})", attachment.metadata.name, attachment.metadata.uid);
  if (status.ifc_name != interface)
    violations.push_back(
        fmt::format("{} says interface '{}', not '{}'", who, status.ifc_name, interface));
  if (status.host_ip != address)
    violations.push_back(fmt::format("{} says host '{}', not '{}'", who, status.host_ip, address));
  for (const std::string& error : status.errors.host)
    violations.push_back(fmt::format("{} still says: {}", who, error));
}

Violations FabricChecker::rest() const {
  Violations violations;
  for (const auto& [node, host] : hosts_) {
    const fabric::Desired planned = plan(node);
    const fabric::Desired& carried = host.plane->stations();
    for (const auto& [id, station] : planned) {
      const auto at = carried.find(id);
      if (at == carried.end()) {
        violations.push_back(fmt::format("{} does not carry {}", node, id));
      } else if (at->second != station) {
        violations.push_back(fmt::format("{} carries {} wrongly", node, id));
      }
    }
    for (const auto& [id, station] : carried)
      if (!planned.contains(id))
        violations.push_back(fmt::format("{} carries {}, which nothing asks for", node, id));
    for (const auto& [key, attachment] : attachments_)
      if (attachment.spec.node == node) check_status(attachment, host, violations);
  }
  return violations;
}

}  // namespace fairlead::sim
