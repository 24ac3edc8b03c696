#include "node/fabric/ovs/plan.h"

#include <algorithm>
#include <charconv>

#include "node/fabric/names.h"
#include "node/fabric/ovs/flows.h"

namespace fairlead::fabric::ovs {
namespace {

constexpr std::string_view kRecordVni = "fairlead-vni";
constexpr std::string_view kRecordMac = "fairlead-mac";
constexpr std::string_view kRecordAddresses = "fairlead-addresses";
constexpr std::string_view kRecordInterface = "fairlead-interface";

// Where the numbers begin that ovs-vswitchd does not give unasked, and where those of OpenFlow end.
constexpr std::int64_t kFirstNumber = 32768;
constexpr std::int64_t kEndNumber = 0xff00;

// Messages that ovs-vswitchd takes from one connection before it looks at everything else.
constexpr std::size_t kReadAtOnce = 50;

const Station* find(const Desired& desired, const std::string& id) {
  const auto found = desired.find(id);
  return found == desired.end() ? nullptr : &found->second;
}

const ObservedPort* find_port(const Observed& observed, std::string_view id) {
  const auto found = observed.ports.find(id);
  return found == observed.ports.end() ? nullptr : &found->second;
}

std::string_view value_of(const std::map<std::string, std::string>& record, std::string_view key) {
  const auto found = record.find(std::string(key));
  return found == record.end() ? std::string_view{} : std::string_view(found->second);
}

std::optional<std::uint64_t> flows_of(const Observed& observed, std::uint64_t cookie) {
  const auto found = observed.flows.find(cookie);
  return found == observed.flows.end() ? std::nullopt : std::optional(found->second);
}

// The flows it should have; nullopt: cannot be said, its port has no number.
std::optional<std::vector<wire::openflow::Flow>> wanted_flows(const Station* station,
                                                              const Observed& observed,
                                                              std::uint32_t tunnel) {
  if (!station) return std::vector<wire::openflow::Flow>{};
  if (!station->local()) return station_flows(*station, 0, tunnel);
  const ObservedPort* port = find_port(observed, station->id);
  std::int64_t number = port ? port->number : 0;
  const auto asked = observed.asked.find(station->id);
  if (number == 0 && asked != observed.asked.end()) number = asked->second;
  if (number <= 0) return std::nullopt;
  return station_flows(*station, static_cast<std::uint32_t>(number), tunnel);
}

}  // namespace

std::map<std::string, std::string> encode_record(const Station& station, std::string_view bridge) {
  std::string addresses;
  for (const Ip& ip : station.addresses)
    addresses += (addresses.empty() ? "" : ",") + ip.to_string();
  return {{std::string(kRecordId), station.id},
          {std::string(kRecordBridge), std::string(bridge)},
          {std::string(kRecordVni), std::to_string(station.vni)},
          {std::string(kRecordMac), station.mac.to_string()},
          {std::string(kRecordAddresses), addresses},
          {std::string(kRecordInterface), station.interface}};
}

std::optional<Station> decode_record(const std::map<std::string, std::string>& record) {
  Station station;
  station.id = value_of(record, kRecordId);
  station.interface = value_of(record, kRecordInterface);
  const std::string_view vni = value_of(record, kRecordVni);
  const auto [end, error] = std::from_chars(vni.data(), vni.data() + vni.size(), station.vni);
  const auto mac = Mac::parse(value_of(record, kRecordMac));
  if (error != std::errc() || end != vni.data() + vni.size() || !mac) return std::nullopt;
  if (station.id.empty() || station.interface.empty()) return std::nullopt;
  station.mac = *mac;
  for (std::string_view rest = value_of(record, kRecordAddresses); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const auto ip = Ip::parse(rest.substr(0, comma));
    if (!ip) return std::nullopt;
    station.addresses.push_back(*ip);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return station;
}

std::string alias_of(std::string_view id) { return std::string(kAliasPrefix) + std::string(id); }

PortPlan plan_ports(const Desired& desired, std::span<const std::string> ids,
                    const Observed& observed) {
  PortPlan plan;
  for (const std::string& id : ids) {
    const Station* station = find(desired, id);
    const ObservedPort* port = find_port(observed, id);
    if (!station || !station->local()) {
      if (port) plan.remove.push_back(id);
      continue;
    }
    const std::string host = host_interface_name(station->interface);
    // The guest may have its end anywhere: another name or MAC takes another interface. A switch
    // that lost the interface does not take up a new one of that name: it takes another port.
    const bool same =
        port && port->station && port->name == host && port->station->mac == station->mac &&
        port->station->interface == station->interface && observed.links.contains(host);
    if (port && !same) plan.replace.push_back(id);
    if (!same && (port || !observed.links.contains(host))) plan.links.push_back(id);
    if (!same)
      plan.ports.push_back(id);
    else if (*port->station != *station)
      plan.records.push_back(id);
    if (same && observed.misfits.contains(host)) plan.resize.push_back(id);
  }
  return plan;
}

NumberPlan plan_numbers(std::span<const std::string> ids, const Observed& observed) {
  NumberPlan plan{.asked = {}, .last_asked = observed.last_asked};
  if (ids.empty()) return plan;
  std::set<std::int64_t> taken = observed.named;
  for (const auto& [row, numbers] : observed.numbers) {
    taken.insert(numbers.given);
    taken.insert(numbers.asked);
  }
  for (const auto& [id, number] : observed.asked) taken.insert(number);

  // On from the last one: a number that was in use comes again as late as possible.
  std::int64_t number = std::max(observed.last_asked, kFirstNumber - 1);
  std::int64_t untried = kEndNumber - kFirstNumber;
  for (const std::string& id : ids) {
    if (observed.asked.contains(id)) continue;
    do {
      if (untried-- == 0) return plan;
      if (++number == kEndNumber) number = kFirstNumber;
    } while (taken.contains(number));
    plan.asked[id] = plan.last_asked = number;
  }
  return plan;
}

std::vector<FlowChange> plan_flows(const Desired& desired, std::span<const std::string> ids,
                                   const Observed& observed, std::uint32_t tunnel) {
  std::vector<FlowChange> changes;
  for (const std::string& id : ids) {
    auto wanted = wanted_flows(find(desired, id), observed, tunnel);
    if (!wanted) continue;
    const std::uint64_t cookie = cookie_of(id);
    const auto present = flows_of(observed, cookie);
    if (wanted->empty() ? !present : present == fingerprint(*wanted)) continue;
    changes.push_back({id, cookie, present.has_value(), std::move(*wanted)});
  }
  return changes;
}

std::vector<FlowChange> plan_new_flows(const Desired& desired, std::span<const std::string> ids,
                                       const Observed& observed, std::uint32_t tunnel) {
  std::vector<std::string> fresh;
  for (const std::string& id : ids)
    if (!flows_of(observed, cookie_of(id))) fresh.push_back(id);
  return plan_flows(desired, fresh, observed, tunnel);
}

std::vector<std::vector<FlowChange>> share_flows(std::vector<FlowChange> changes,
                                                 std::size_t most) {
  const auto messages = [](const FlowChange& change) {
    return change.add.size() + (change.remove ? 1 : 0);
  };
  std::size_t total = 0;
  for (const FlowChange& change : changes) total += messages(change);
  const std::size_t count = std::min((total + kReadAtOnce - 1) / kReadAtOnce, most);
  std::vector<std::vector<FlowChange>> shares(count);
  std::vector<std::size_t> sizes(count);
  for (FlowChange& change : changes) {
    const bool alters = change.remove && !change.add.empty();
    const auto to = alters ? sizes.begin() : std::ranges::min_element(sizes);
    *to += messages(change);
    shares[static_cast<std::size_t>(to - sizes.begin())].push_back(std::move(change));
  }
  return shares;
}

std::optional<FlowChange> plan_base_flows(const Observed& observed, std::uint32_t tunnel) {
  std::vector<wire::openflow::Flow> wanted = base_flows(tunnel);
  const auto present = flows_of(observed, kBaseCookie);
  if (present == fingerprint(wanted)) return std::nullopt;
  return FlowChange{"", kBaseCookie, present.has_value(), std::move(wanted)};
}

std::vector<FlowChange> plan_stray_flows(const Desired& desired, const Observed& observed) {
  std::set<std::uint64_t> known = {kBaseCookie};
  for (const auto& [id, station] : desired) known.insert(cookie_of(id));
  for (const auto& [id, port] : observed.ports) known.insert(cookie_of(id));
  std::vector<FlowChange> changes;
  for (const auto& [cookie, flows] : observed.flows)
    if (!known.contains(cookie)) changes.push_back({"", cookie, true, {}});
  return changes;
}

bool is_complete(const Station& station, const Observed& observed, std::uint32_t tunnel) {
  const std::string ids[] = {station.id};
  const Desired desired = {{station.id, station}};
  if (station.local()) {
    const ObservedPort* port = find_port(observed, station.id);
    if (!port || port->number <= 0) return false;
  }
  return plan_ports(desired, ids, observed) == PortPlan{} &&
         plan_flows(desired, ids, observed, tunnel).empty();
}

}  // namespace fairlead::fabric::ovs
