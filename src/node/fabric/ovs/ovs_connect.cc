// OvsFabric: connecting, preparing the bridge, and following what the database tells.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"
#include "node/fabric/ovs/flows.h"
#include "node/fabric/ovs/ovs_fabric.h"

namespace fairlead::fabric::ovs {
namespace {

constexpr std::string_view kTunnelPort = "fl-vtep";
constexpr std::string_view kMark = "fairlead";
constexpr runtime::BackOff::Limits kRetries{.first = 100ms, .longest = 2s};
constexpr std::chrono::seconds kPatience{10};
constexpr std::uint32_t kUsualMtu = 1500;  // of Ethernet
constexpr std::uint32_t kLeastMtu = 1280;  // of IPv6

const wire::ovsdb::Value& column(const wire::ovsdb::Row& row, std::string_view name) {
  static const wire::ovsdb::Value kNone;
  const auto found = row.find(name);
  return found == row.end() ? kNone : found->second;
}

Task<Result<>> wait_for(runtime::Signal& signal) { co_return co_await signal.wait(); }

}  // namespace

Task<Result<>> OvsFabric::connect() {
  ready_ = false;
  if (!ovsdb_.connected()) {
    FL_CO_CHECKED(co_await ovsdb_.connect());
  }
  FL_CO_CHECKED(co_await ensure_bridge());
  FL_CO_CHECKED(co_await ensure_tunnel());
  if (!bridge_connected()) {
    FL_CO_CHECKED(co_await connect_bridge());
    started_ = true;
  }
  if (!std::exchange(adding_lanes_, true)) scope_.spawn(add_lanes());
  FL_CO_CHECKED(co_await observe_flows());
  FL_CO_CHECKED(co_await observe_links());
  std::vector<FlowChange> base;
  // Others than ours are an earlier build's and carry traffic: an audit changes them, after the
  // rest.
  if (auto change = plan_base_flows(observed_, static_cast<std::uint32_t>(tunnel_));
      change && !change->remove)
    base.push_back(std::move(*change));
  Failures failures;
  co_await change_flows(std::move(base), failures);
  if (!failures.empty()) co_return fail(failures.begin()->second.context("ovs: first flows"));
  ready_ = ovsdb_.connected() && bridge_connected();
  if (!ready_) co_return fail(Code::unavailable, "ovs: lost again");
  connection_changed_.notify();
  co_return Result<>{};
}

Task<Result<>> OvsFabric::ensure_bridge() {
  using namespace wire::ovsdb;  // NOLINT
  using Texts = std::map<std::string, std::string>;
  if (bridges_.contains(options_.bridge)) {
    if (bridge_marks_[options_.bridge] != kMark)
      co_return fail(Code::conflict,
                     "ovs: bridge " + options_.bridge + " exists and was made by somebody else");
    co_return Result<>{};
  }
  const Row interface = {{"name", options_.bridge}, {"type", "internal"}};
  const Row port = {{"name", options_.bridge}, {"interfaces", NamedUuid{"i"}}};
  const Row bridge = {{"name", options_.bridge},
                      {"ports", NamedUuid{"p"}},
                      {"fail_mode", "secure"},
                      {"datapath_type", options_.datapath_type},
                      {"external_ids", Texts{{std::string(kMark), "bridge"}}}};
  JsonArray operations;
  operations.push_back(insert("Interface", interface, "i"));
  operations.push_back(insert("Port", port, "p"));
  operations.push_back(insert("Bridge", bridge, "b"));
  operations.push_back(mutate("Open_vSwitch", {}, {{"bridges", "insert", NamedUuid{"b"}}}));
  auto results = co_await ovsdb_.transact(std::move(operations));
  if (!results) co_return fail(std::move(results).error().context("make bridge"));
  co_return Result<>{};
}

// The one port through which every tunnel goes.
Task<Result<>> OvsFabric::ensure_tunnel() {
  using namespace wire::ovsdb;  // NOLINT
  std::map<std::string, std::string> wanted = {{"key", "flow"}, {"remote_ip", "flow"}};
  if (options_.local_ip) wanted["local_ip"] = options_.local_ip->to_string();
  const std::string name(kTunnelPort);
  if (!port_uuids_.contains(name)) {
    const Row interface = {{"name", name}, {"type", "vxlan"}, {"options", wanted}};
    const Row port = {{"name", name}, {"interfaces", NamedUuid{"i"}}};
    JsonArray operations;
    operations.push_back(insert("Interface", interface, "i"));
    operations.push_back(insert("Port", port, "p"));
    operations.push_back(
        mutate("Bridge", {{"name", "==", options_.bridge}}, {{"ports", "insert", NamedUuid{"p"}}}));
    auto results = co_await ovsdb_.transact(std::move(operations));
    if (!results) co_return fail(std::move(results).error().context("make tunnel port"));
  } else {
    JsonArray operations;
    operations.push_back(select("Bridge", {{"name", "==", options_.bridge}}, {"ports"}));
    operations.push_back(select("Interface", {{"name", "==", name}}, {"options"}));
    FL_CO_TRY(const auto results, co_await ovsdb_.transact(std::move(operations)));
    const Uuid tunnel{port_uuids_[name]};
    const auto& rows = results[0].rows;
    const std::vector<Uuid> ports =
        rows.empty() ? std::vector<Uuid>{} : column(rows[0], "ports").uuids();
    if (std::ranges::find(ports, tunnel) == ports.end())
      co_return fail(Code::conflict, "ovs: port " + name + " is on another bridge");
    if (results[1].rows.empty() || column(results[1].rows[0], "options").texts() != wanted) {
      JsonArray repair;
      repair.push_back(update("Interface", {{"name", "==", name}}, {{"options", wanted}}));
      FL_CO_CHECKED(co_await ovsdb_.transact(std::move(repair)));
    }
  }
  const Instant until = runtime_.now() + kPatience;
  while (tunnel_ <= 0) {
    if (!ovsdb_.connected()) co_return fail(Code::unavailable, "ovsdb: not connected");
    const Result<> woken =
        co_await runtime::with_timeout(runtime_, until - runtime_.now(), wait_for(rows_changed_));
    if (!woken) co_return fail(woken.error().context("ovs: no number for port " + name));
  }
  co_return Result<>{};
}

// The socket appears when ovs-vswitchd has taken up the bridge.
Task<Result<>> OvsFabric::connect_bridge() {
  const Instant until = runtime_.now() + kPatience;
  for (;;) {
    const Result<> connected = co_await openflow_.front()->connect();
    if (connected || runtime_.now() >= until) co_return connected;
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, kRetries.first));
  }
}

// Nobody waits for them: a busy switch takes its time for each.
Task<void> OvsFabric::add_lanes() {
  for (std::size_t at = 1; at < openflow_.size(); ++at) {
    if (openflow_[at]->connected()) continue;
    const Result<> connected = co_await openflow_[at]->connect();
    if (!connected) break;
  }
  adding_lanes_ = false;
}

Task<Result<>> OvsFabric::observe_flows() {
  std::map<std::uint64_t, std::uint64_t> flows;
  std::set<std::int64_t> named;
  const auto each = [&flows, &named](const wire::openflow::Flow& flow) {
    flows[flow.cookie] += fingerprint(flow);
    if (const auto port = in_port_of(flow)) named.insert(*port);
  };
  FL_CO_CHECKED(co_await openflow_.front()->dump(each));
  observed_.flows = std::move(flows);
  observed_.named = std::move(named);
  co_return Result<>{};
}

// While the interface is away (a switch in user space takes its own along when it restarts), what
// was known stays.
Task<Result<>> OvsFabric::observe_mtu() {
  if (options_.mtu != 0 || !options_.local_ip) {
    mtu_ = options_.mtu != 0 ? options_.mtu : kUsualMtu - tunnel_headers(false);
    co_return Result<>{};
  }
  const Ip local = *options_.local_ip;
  const auto work = [local] { return underlay_mtu(local); };
  const Result<std::uint32_t> underlay = co_await runtime::blocking(runtime_, work);
  if (!underlay && mtu_ != 0) co_return Result<>{};
  if (!underlay) co_return fail(underlay.error().context("ovs: tunnel end"));
  const std::uint32_t headers = tunnel_headers(!local.is_v4());
  if (*underlay < kLeastMtu + headers)
    co_return fail(Code::invalid, "ovs: the underlay's MTU, " + std::to_string(*underlay) +
                                      ", leaves less than 1280 bytes inside the tunnel");
  mtu_ = *underlay - headers;
  co_return Result<>{};
}

Task<Result<>> OvsFabric::observe_links() {
  FL_CO_CHECKED(co_await observe_mtu());
  const auto work = [] { return find_guest_links(kAliasPrefix); };
  FL_CO_TRY(GuestLinks links, co_await runtime::blocking(runtime_, work));
  observed_.links.clear();
  observed_.misfits.clear();
  half_made_ = std::move(links.half_made);
  for (const GuestLink& link : links.named) {
    observed_.links.insert(link.name);
    if (link.mtu != mtu_) observed_.misfits.insert(link.name);
  }
  co_return Result<>{};
}

Task<void> OvsFabric::keep_connected() {
  runtime::BackOff back_off(kRetries);
  std::string told;  // why it could not connect
  for (;;) {
    // One at a time: whoever is at it will notice the loss and end.
    if (connected() || changing_) {
      const Result<> woken = co_await connection_changed_.wait();
      if (!woken) co_return;
      continue;
    }
    const Result<> paused = co_await back_off.pause(runtime_);
    if (!paused) co_return;
    if (changing_) continue;
    Result<> connected;
    {
      const Busy busy(changing_, connection_changed_);
      connected = co_await connect();
    }
    if (connected) {
      log::info("connected to Open vSwitch again", {{"bridge", options_.bridge}});
      back_off.reset();
      told.clear();
      disturbed_.notify();
    } else {
      if (connected.error().code == Code::cancelled) co_return;
      const std::string why = connected.error().to_string();
      if (std::exchange(told, why) != why)
        log::warning("cannot connect to Open vSwitch",
                     {{"bridge", options_.bridge}, {"error", why}});
    }
  }
}

Task<Result<>> OvsFabric::wait_connected() {
  if (!kept_) co_return fail(Code::unavailable, "ovs: not open");
  const Instant until = runtime_.now() + kPatience;
  while (!connected()) {
    const Result<> woken = co_await runtime::with_timeout(runtime_, until - runtime_.now(),
                                                          wait_for(connection_changed_));
    if (!woken && woken.error().code == Code::timeout)
      co_return fail(Code::unavailable, "ovs: not connected");
    if (!woken) co_return woken;
  }
  if (tunnel_ > 0) co_return Result<>{};
  const Busy busy(changing_, connection_changed_);
  co_return co_await ensure_tunnel();
}

void OvsFabric::on_end(const Error& error) {
  if (std::exchange(ready_, false))
    log::warning("lost Open vSwitch", {{"bridge", options_.bridge}, {"error", error.message}});
  rows_changed_.notify();
  connection_changed_.notify();
}

void OvsFabric::on_row(const std::string& table, const std::string& uuid,
                       const wire::ovsdb::Row* row) {
  if (table == "Interface") {
    on_interface(uuid, row);
  } else if (table == "Open_vSwitch") {
    on_switch(row);
  } else if (table == "Port") {
    if (const auto before = port_names_.find(uuid); before != port_names_.end()) {
      // Unless another row has its name by now: one message may tell of both, in any order.
      const auto named = port_uuids_.find(before->second);
      if (named != port_uuids_.end() && named->second == uuid) port_uuids_.erase(named);
      port_names_.erase(before);
    }
    if (row) {
      const std::string name(column(*row, "name").text());
      port_names_[uuid] = name;
      port_uuids_[name] = uuid;
    }
  } else if (table == "Bridge") {
    std::erase_if(bridges_, [&](const auto& bridge) { return bridge.second == uuid; });
    if (row) {
      const std::string name(column(*row, "name").text());
      bridges_[name] = uuid;
      bridge_marks_[name] = column(*row, "external_ids").texts().contains(std::string(kMark))
                                ? std::string(kMark)
                                : std::string();
    }
    notice_restart_step();
  }
  rows_changed_.notify();
}

void OvsFabric::on_switch(const wire::ovsdb::Row* row) {
  if (!row) return;
  current_config_ = column(*row, "cur_cfg").number().value_or(0);
  const auto config = column(*row, "other_config").texts();
  const auto wait = config.find(std::string(kWaitKey));
  waits_ = wait != config.end() && wait->second == "true";
  waits_for_us_ = waits_ && column(*row, "external_ids").texts().contains(std::string(kWaitMark));
  notice_restart_step();
}

// Others' bridges came or went, or somebody changed what we said about restarts.
void OvsFabric::notice_restart_step() {
  if (ready_ && !changing_ && next_restart_step(restart_view()) != RestartStep::nothing)
    disturbed_.notify();
}

void OvsFabric::on_interface(const std::string& uuid, const wire::ovsdb::Row* row) {
  const auto disturb = [this](bool really) {
    if (really && !changing_ && ready_) disturbed_.notify();
  };
  // While we change things, what had a number and gets another is still none of our doing.
  const auto renumbered = [this](std::int64_t before, std::int64_t now) {
    missed_ = missed_ || (changing_ && before > 0 && before != now);
  };
  if (row)
    observed_.numbers[uuid] = {.given = column(*row, "ofport").number().value_or(0),
                               .asked = column(*row, "ofport_request").number().value_or(0)};
  else
    observed_.numbers.erase(uuid);
  if (row && column(*row, "name").text() == kTunnelPort) {
    const std::int64_t before = tunnel_;
    tunnel_interface_ = uuid;
    tunnel_ = column(*row, "ofport").number().value_or(0);
    disturb(before != tunnel_);
    renumbered(before, tunnel_);
    return;
  }
  if (uuid == tunnel_interface_) {
    tunnel_interface_.clear();
    tunnel_ = 0;
    disturb(true);
    return;
  }
  std::map<std::string, std::string> record;
  if (row) record = column(*row, "external_ids").texts();
  const auto bridge = record.find(std::string(kRecordBridge));
  const bool ours = row && bridge != record.end() && bridge->second == options_.bridge;
  std::string id;
  if (ours) id = record.contains(std::string(kRecordId)) ? record.at(std::string(kRecordId)) : "";

  const auto known = interfaces_.find(uuid);
  if (known != interfaces_.end() && (!ours || known->second != id)) {
    // Unless another row has its place by now, as above.
    const auto port = observed_.ports.find(known->second);
    if (port != observed_.ports.end() && port->second.row == uuid) observed_.ports.erase(port);
    interfaces_.erase(known);
    disturb(true);
  }
  if (!ours || id.empty()) return;
  ObservedPort port{.name = std::string(column(*row, "name").text()),
                    .station = decode_record(record),
                    .number = column(*row, "ofport").number().value_or(0),
                    .error = std::string(column(*row, "error").text()),
                    .interface = column(*row, "ifindex").number().value_or(0),
                    .row = uuid};
  interfaces_[uuid] = id;
  const auto before = observed_.ports.find(id);
  const bool changed = before == observed_.ports.end() || before->second.number != port.number ||
                       (before->second.interface > 0 && port.interface == 0);
  if (before != observed_.ports.end()) {
    renumbered(before->second.number, port.number);
    missed_ = missed_ || (changing_ && before->second.interface > 0 && port.interface == 0);
  }
  observed_.ports.insert_or_assign(id, std::move(port));
  disturb(changed);
}

}  // namespace fairlead::fabric::ovs
