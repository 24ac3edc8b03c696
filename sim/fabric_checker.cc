#include "sim/fabric_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "fabric/names.h"
#include "resource/catalog.h"
#include "resource/describe.h"
#include "watchcache/stored_object.h"

namespace fairlead::sim {
namespace {

using resource::NetworkAttachment;
using resource::NetworkAttachmentStatus;

constexpr std::string_view kStray = "stray-";  // what HostPlane::disturb leaves

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

void FabricChecker::take_in(const store::Change& change) {
  static const resource::Kind& attachments =
      *resource::builtin_catalog().find("fairlead.dev", "v1alpha1", "networkattachments");
  static const resource::Kind& reports =
      *resource::builtin_catalog().find("fairlead.dev", "v1alpha1", "nodereports");
  static const std::string attachment_prefix = watchcache::kind_prefix(attachments);
  static const std::string report_prefix = watchcache::kind_prefix(reports);
  const store::Revision now = change.current.modified.revision;
  if (change.current.key.starts_with(report_prefix)) {
    const std::string node = change.current.key.substr(report_prefix.size());
    if (change.erased) {
      report_since_.erase(node);
    } else {
      report_since_.emplace(node, now);
    }
  }
  if (!change.current.key.starts_with(attachment_prefix)) return;
  const std::string key = change.current.key.substr(attachment_prefix.size());
  if (change.erased) {
    const auto at = attachments_.find(key);
    CHECK(at != attachments_.end());
    disown(at->second.metadata.uid, now);
    attachments_.erase(at);
    return;
  }
  const auto object =
      watchcache::decode_stored(attachments, change.current.value.view(), change.current.modified);
  CHECK(object.has_value());
  NetworkAttachment& attachment = attachments_[key];
  attachment = *resource::decode<NetworkAttachment>((*object)->decode());
  own(attachment.metadata.uid, attachment.status, now);
}

void FabricChecker::take_in(const store::ChangeBatch& batch) {
  for (const store::Change& change : batch.changes) take_in(change);
  for (const auto& [node, host] : hosts_)
    for (const auto& [id, station] : host.plane->stations()) judge(*host.plane, station);
}

void FabricChecker::carried(const HostPlane& plane, const fabric::Station& station) {
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
    const auto since = report_since_.find(plane.node());
    const bool excused = since == report_since_.end() ||
                         (released != released_.end() && since->second > released->second);
    if (excused) {
      ++excused_;
      continue;
    }
    violation_ = fmt::format(
        "{} of network {} belongs to {}, but {} forwards it {} for {}, which lost it at {}",
        ip.to_string(), station.vni, owner->second, plane.node(),
        station.local() ? "to " + station.interface : "to host " + station.host.to_string(),
        station.id, released == released_.end() ? 0 : released->second);
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
