#include "node/fabric/ovs/ovs_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "foundation/base/log.h"
#include "node/fabric/names.h"
#include "node/fabric/ovs/flows.h"

namespace fairlead::fabric::ovs {
namespace {

// Stations in one transaction and bundle. For each the switch goes through all of its ports, so an
// agent that asks for many (Carrier) is not made to wait for a second one.
constexpr std::size_t kAtOnce = 1000;

// Of these, stations whose interfaces are made, and whose ports are then asked for, before the
// next: so many at first, then twice as many each time. Whenever an interface appears on the host
// the switch asks for a list of all, and the C library begins that anew when another one has
// appeared meanwhile: as long as interfaces are being made one after the other the switch does
// nothing else. While it takes up ports it does not ask; so the next interfaces are made then.
constexpr std::size_t kFirstTurn = 64;

// Connections to the bridge.
constexpr std::size_t kLanes = 8;

runtime::Endpoint unix_socket(const std::string& path) {
  return {.kind = runtime::Endpoint::Kind::unix_socket, .host = path, .port = 0};
}

}  // namespace

OvsFabric::OvsFabric(runtime::Runtime& runtime, OvsOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      ovsdb_(
          runtime, unix_socket(options_.run_directory + "/db.sock"),
          {{"Open_vSwitch", {"cur_cfg", "other_config", "external_ids"}},
           {"Bridge", {"name", "external_ids"}},
           {"Port", {"name"}},
           {"Interface", {"name", "ofport", "ofport_request", "error", "ifindex", "external_ids"}}},
          [this](const std::string& table, const std::string& uuid, const wire::ovsdb::Row* row) {
            on_row(table, uuid, row);
          },
          [this](const Error& error) { on_end(error); }),
      scope_(runtime) {
  const auto bridge = unix_socket(options_.run_directory + "/" + options_.bridge + ".mgmt");
  openflow_.push_back(std::make_unique<OpenFlowClient>(
      runtime, bridge, [this](const Error& error) { on_end(error); }));
  // What is under way on the others when they end fails, which is how their end is noticed.
  while (openflow_.size() < kLanes)
    openflow_.push_back(
        std::make_unique<OpenFlowClient>(runtime, bridge, [](const Error& /*error*/) {}));
}

Task<Result<>> OvsFabric::open() {
  if (!connected()) {
    const Busy busy(changing_, connection_changed_);
    FL_CO_CHECKED(co_await connect());
  }
  if (!std::exchange(kept_, true)) scope_.spawn(keep_connected());
  co_return Result<>{};
}

std::vector<Station> OvsFabric::local_stations() const {
  std::vector<Station> stations;
  const auto tunnel = static_cast<std::uint32_t>(tunnel_);
  for (const auto& [id, port] : observed_.ports)
    if (port.station && is_complete(*port.station, observed_, tunnel))
      stations.push_back(*port.station);
  return stations;
}

Task<std::vector<Outcome>> OvsFabric::apply(const Desired& desired,
                                            std::span<const std::string> ids) {
  std::vector<Outcome> outcomes;
  const Result<> ready = co_await wait_connected();
  for (std::size_t at = 0; at < ids.size(); at += kAtOnce) {
    const auto part = ids.subspan(at, std::min(kAtOnce, ids.size() - at));
    const std::vector<std::string> some(part.begin(), part.end());
    Failures failures;
    std::set<std::string> made;
    if (ready) made = co_await bring(desired, some, {}, failures);
    for (const std::string& id : some) {
      Outcome& outcome = outcomes.emplace_back();
      outcome.id = id;
      outcome.made_interface = made.contains(id);
      if (!ready) outcome.result = fail(ready.error());
      if (const auto failed = failures.find(id); failed != failures.end())
        outcome.result = fail(failed->second);
    }
  }
  co_return outcomes;
}

Task<Result<Audit>> OvsFabric::audit(const Desired& desired) {
  FL_CO_CHECKED(co_await wait_connected());
  const Busy busy(changing_, connection_changed_);
  FL_CO_CHECKED(co_await ensure_bridge());
  FL_CO_CHECKED(co_await ensure_tunnel());
  FL_CO_CHECKED(co_await observe_flows());
  FL_CO_CHECKED(co_await observe_links());

  Audit audit;
  const auto tunnel = static_cast<std::uint32_t>(tunnel_);
  std::vector<std::string> ids;
  std::set<std::string> expected_links;
  for (const auto& [id, port] : observed_.ports) {
    expected_links.insert(port.name);
    if (!desired.contains(id) || !desired.find(id)->second.local()) {
      ids.push_back(id);
      ++audit.unexpected;
    }
  }
  for (const std::string& id : ids_of(desired)) {
    const Station& station = desired.find(id)->second;
    if (station.local()) expected_links.insert(host_interface_name(station.interface));
    if (is_complete(station, observed_, tunnel)) continue;
    ids.push_back(id);
    ++audit.missing;
  }
  std::vector<FlowChange> more = plan_stray_flows(desired, observed_);
  audit.unexpected += more.size();
  if (auto base = plan_base_flows(observed_, tunnel)) {
    more.push_back(std::move(*base));
    ++audit.missing;
  }

  // Interfaces that got no port, or not even a word on whose they are, of a process that died in
  // between.
  std::vector<std::string> stray = std::exchange(half_made_, {});
  for (const std::string& link : observed_.links)
    if (!expected_links.contains(link)) stray.push_back(link);
  audit.unexpected += stray.size();
  if (!stray.empty()) {
    const auto remove = [stray] { return remove_links(stray); };
    FL_CO_CHECKED(co_await runtime::blocking(runtime_, remove));
    for (const std::string& link : stray) observed_.links.erase(link);
  }

  for (std::size_t at = 0; at < ids.size() || !more.empty(); at += kAtOnce) {
    const std::size_t from = std::min(at, ids.size());
    const std::size_t to = std::min(at + kAtOnce, ids.size());
    const std::vector<std::string> some(ids.begin() + static_cast<std::ptrdiff_t>(from),
                                        ids.begin() + static_cast<std::ptrdiff_t>(to));
    Failures failures;
    // What belongs to no station goes last: a new build's may forbid what stations' now allow.
    std::vector<FlowChange> extra;
    if (to == ids.size()) extra = std::exchange(more, {});
    const std::set<std::string> made = co_await bring(desired, some, std::move(extra), failures);
    for (const std::string& id : made)
      if (!failures.contains(id)) audit.made.push_back(id);
    for (const auto& [id, error] : failures)
      audit.failed.push_back(
          {.id = id, .result = fail(error), .made_interface = made.contains(id)});
  }
  FL_CO_CHECKED(co_await prepare_restart());
  co_return audit;
}

// --- the steps -------------------------------------------------------------------------------

Task<std::set<std::string>> OvsFabric::bring(const Desired& desired,
                                             const std::vector<std::string>& ids,
                                             std::vector<FlowChange> more, Failures& failures) {
  const Busy busy(changing_, connection_changed_);
  const PortPlan plan = plan_ports(desired, ids, observed_);
  std::set<std::string> made;

  if (!plan.replace.empty()) {
    std::vector<FlowChange> drop;
    for (const std::string& id : plan.replace) drop.push_back({id, cookie_of(id), true, {}});
    co_await change_flows(std::move(drop), failures);
    co_await remove_ports(plan.replace, failures);
    // The switch must have let go of a name before it sees it again.
    const Result<> settled = co_await settle();
    for (const std::string& id : plan.replace)
      if (!settled) failures.try_emplace(id, settled.error());
  }
  NumberPlan numbers = plan_numbers(plan.ports, observed_);
  observed_.last_asked = numbers.last_asked;
  observed_.asked.merge(numbers.asked);
  std::vector<FlowChange> first =
      plan_new_flows(desired, ids, observed_, static_cast<std::uint32_t>(tunnel_));
  std::set<std::string> announced;
  for (const FlowChange& change : first) announced.insert(change.id);
  runtime::Scope beside(runtime_);
  beside.spawn(change_flows(std::move(first), failures));
  // Many flows would wait for as long as interfaces are being made.
  if (plan.ports.size() > kFirstTurn) co_await beside.join();
  co_await make_interfaces(desired, plan, made, failures);
  co_await update_records(desired, plan.records, failures);
  co_await set_mtus(desired, plan.resize, failures);
  co_await wait_numbers(desired, ids, failures);
  co_await beside.join();

  std::vector<std::string> good;
  std::vector<FlowChange> changes;
  for (const std::string& id : ids) {
    if (!failures.contains(id))
      good.push_back(id);
    else if (announced.contains(id) && !observed_.ports.contains(id) &&
             observed_.flows.contains(cookie_of(id)))
      changes.push_back({id, cookie_of(id), true, {}});  // it got no port after all
  }
  std::ranges::move(plan_flows(desired, good, observed_, static_cast<std::uint32_t>(tunnel_)),
                    std::back_inserter(changes));
  co_await change_flows(std::move(changes), failures);
  co_await change_flows(std::move(more), failures);
  co_await remove_ports(plan.remove, failures);
  for (const std::string& id : ids) {
    const auto station = desired.find(id);
    if (station == desired.end()) continue;
    if (const Result<> host = check_host(station->second); !host)
      failures.try_emplace(id, host.error());
  }
  std::erase_if(observed_.asked, [this](const auto& asked) {
    const auto port = observed_.ports.find(asked.first);
    const bool numbered = port != observed_.ports.end() && port->second.number > 0;
    return numbered || !observed_.flows.contains(cookie_of(asked.first));
  });
  if (std::exchange(missed_, false)) disturbed_.notify();
  co_return made;
}

Task<void> OvsFabric::make_interfaces(const Desired& desired, const PortPlan& plan,
                                      std::set<std::string>& made, Failures& failures) {
  const std::set<std::string_view> linkless(plan.links.begin(), plan.links.end());
  std::size_t turn = kFirstTurn;
  for (std::size_t at = 0, end = 0; at < plan.ports.size(); at = end, turn *= 2) {
    // When it answers it has begun with the ports of the turn before. If it cannot answer, others
    // will notice.
    if (at > 0) (void)co_await openflow_.front()->barrier();
    end = std::min(at + turn, plan.ports.size());
    const std::vector<std::string> ports(plan.ports.begin() + static_cast<std::ptrdiff_t>(at),
                                         plan.ports.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<std::string> links;
    for (const std::string& id : ports)
      if (linkless.contains(id)) links.push_back(id);
    co_await make_links(desired, links, failures);
    for (const std::string& id : links)
      if (!failures.contains(id)) made.insert(id);
    co_await make_ports(desired, ports, failures);
  }
}

Task<void> OvsFabric::make_links(const Desired& desired, const std::vector<std::string>& ids,
                                 Failures& failures) {
  std::vector<VethPair> pairs;
  std::vector<std::string> whose;
  for (const std::string& id : ids) {
    if (failures.contains(id)) continue;
    const Station& station = desired.find(id)->second;
    const std::string host = host_interface_name(station.interface);
    whose.push_back(id);
    pairs.push_back({.host = host,
                     .guest = station.interface,
                     .mac = station.mac,
                     .mtu = mtu_,
                     .alias = alias_of(id),
                     .switch_in_user_space = options_.datapath_type == "netdev"});
  }
  if (pairs.empty()) co_return;
  const auto work = [pairs] { return make_veth_pairs(pairs); };
  const std::vector<Result<>> results = co_await runtime::blocking(runtime_, work);
  for (std::size_t at = 0; at < results.size(); ++at) {
    if (!results[at]) {
      failures.try_emplace(whose[at], results[at].error());
      continue;
    }
    observed_.links.insert(pairs[at].host);
    observed_.misfits.erase(pairs[at].host);
  }
}

Task<void> OvsFabric::make_ports(const Desired& desired, const std::vector<std::string>& ids,
                                 Failures& failures) {
  std::vector<std::string> good;
  for (const std::string& id : ids) {
    if (failures.contains(id)) continue;
    const std::string host = host_interface_name(desired.find(id)->second.interface);
    if (port_uuids_.contains(host))
      failures.try_emplace(id, Error{Code::already_exists, "ovsdb: a port named " + host});
    else
      good.push_back(id);
  }
  if (good.empty()) co_return;
  const Result<> all = co_await insert_ports(desired, good);
  if (all) co_return;
  // Somebody is in the way of one of them: the others need not wait for that.
  const bool each = all.error().code == Code::conflict && good.size() > 1;
  for (const std::string& id : good) {
    const std::vector<std::string> one = {id};
    const Result<> result = each ? co_await insert_ports(desired, one) : all;
    if (!result) failures.try_emplace(id, result.error());
  }
}

Task<Result<>> OvsFabric::insert_ports(const Desired& desired,
                                       const std::vector<std::string>& ids) {
  using namespace wire::ovsdb;  // NOLINT
  const auto bridge = bridges_.find(options_.bridge);
  if (bridge == bridges_.end())
    co_return fail(Code::unavailable, "ovsdb: bridge " + options_.bridge + " is gone");
  JsonArray operations;
  std::vector<Atom> ports;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const Station& station = desired.find(ids[at])->second;
    const std::string host = host_interface_name(station.interface);
    const std::string interface = fmt::format("i{}", at);
    const std::string port = fmt::format("p{}", at);
    Row interface_row = {{"name", host}, {"external_ids", encode_record(station, options_.bridge)}};
    if (const auto asked = observed_.asked.find(ids[at]); asked != observed_.asked.end())
      interface_row.emplace("ofport_request", asked->second);
    const Row port_row = {{"name", host}, {"interfaces", NamedUuid{interface}}};
    operations.push_back(insert("Interface", interface_row, interface));
    operations.push_back(insert("Port", port_row, port));
    ports.emplace_back(NamedUuid{port});
  }
  operations.push_back(mutate("Bridge", {{"_uuid", "==", Uuid{bridge->second}}},
                              {{"ports", "insert", Value::set(std::move(ports))}}));
  FL_CO_TRY(const auto results, co_await ovsdb_.transact(std::move(operations)));
  if (results.back().count != 1)
    co_return fail(Code::unavailable, "ovsdb: bridge " + options_.bridge + " is gone");
  co_return Result<>{};
}

Task<void> OvsFabric::update_records(const Desired& desired, const std::vector<std::string>& ids,
                                     Failures& failures) {
  using namespace wire::ovsdb;  // NOLINT
  JsonArray operations;
  for (const std::string& id : ids) {
    const Station& station = desired.find(id)->second;
    operations.push_back(update("Interface",
                                {{"name", "==", host_interface_name(station.interface)}},
                                {{"external_ids", encode_record(station, options_.bridge)}}));
  }
  if (operations.empty()) co_return;
  const auto results = co_await ovsdb_.transact(std::move(operations));
  if (results) co_return;
  for (const std::string& id : ids) failures.try_emplace(id, results.error());
}

Task<void> OvsFabric::set_mtus(const Desired& desired, const std::vector<std::string>& ids,
                               Failures& failures) {
  std::vector<std::string> links;
  for (const std::string& id : ids)
    links.push_back(host_interface_name(desired.find(id)->second.interface));
  if (links.empty()) co_return;
  const std::uint32_t mtu = mtu_;
  const auto work = [links, mtu] { return set_mtu(links, mtu); };
  const Result<> result = co_await runtime::blocking(runtime_, work);
  for (const std::string& link : links)
    if (result) observed_.misfits.erase(link);
  for (const std::string& id : ids)
    if (!result) failures.try_emplace(id, result.error());
}

Task<void> OvsFabric::wait_numbers(const Desired& desired, const std::vector<std::string>& ids,
                                   Failures& failures) {
  std::vector<std::string> local;
  for (const std::string& id : ids) {
    const auto station = desired.find(id);
    if (station != desired.end() && station->second.local() && !failures.contains(id))
      local.push_back(id);
  }
  const auto numbered = [this](const std::string& id) {
    const auto port = observed_.ports.find(id);
    return port != observed_.ports.end() && port->second.number > 0;
  };
  const Instant until =
      runtime_.now() + std::chrono::seconds(10) + std::chrono::milliseconds(20) * local.size();
  std::size_t done = 0;
  while (done < local.size() && ovsdb_.connected()) {
    if (numbered(local[done])) {
      ++done;
      continue;
    }
    if (runtime_.now() >= until) break;
    const auto wait = [](runtime::Signal& signal) -> Task<Result<>> {
      co_return co_await signal.wait();
    };
    const Result<> woken =
        co_await runtime::with_timeout(runtime_, until - runtime_.now(), wait(rows_changed_));
    if (!woken && woken.error().code != Code::timeout) break;
  }
  for (std::size_t at = done; at < local.size(); ++at) {
    if (numbered(local[at])) continue;
    const auto port = observed_.ports.find(local[at]);
    const std::string why = port == observed_.ports.end() ? "" : port->second.error;
    failures.try_emplace(local[at], Error{Code::timeout, "ovs: the switch gave the port no number" +
                                                             (why.empty() ? "" : ": " + why)});
  }
}

Task<void> OvsFabric::change_flows(std::vector<FlowChange> changes, Failures& failures) {
  std::vector<OpenFlowClient*> lanes = {openflow_.front().get()};
  for (std::size_t at = 1; at < openflow_.size(); ++at)
    if (openflow_[at]->ready()) lanes.push_back(openflow_[at].get());
  std::vector<std::vector<FlowChange>> shares = share_flows(std::move(changes), lanes.size());
  runtime::Scope scope(runtime_);
  for (std::size_t at = 0; at < shares.size(); ++at)
    scope.spawn(change_share(*lanes[at], std::move(shares[at]), failures));
  co_await scope.join();
}

Task<void> OvsFabric::change_share(OpenFlowClient& client, std::vector<FlowChange> changes,
                                   Failures& failures) {
  namespace of = wire::openflow;
  while (!changes.empty()) {
    std::vector<of::FlowMod> mods;
    std::vector<std::size_t> owner;
    const auto push = [&](std::size_t at, of::FlowMod mod) {
      mods.push_back(std::move(mod));
      owner.push_back(at);
    };
    // All that goes first: what comes may take the place of what goes.
    for (std::size_t at = 0; at < changes.size(); ++at) {
      if (!changes[at].remove) continue;
      of::FlowMod mod{.command = of::Command::remove, .flow = {}, .cookie_mask = ~0ull};
      mod.flow.table = of::kAllTables;
      mod.flow.cookie = changes[at].cookie;
      push(at, std::move(mod));
    }
    for (std::size_t at = 0; at < changes.size(); ++at)
      for (const of::Flow& flow : changes[at].add) push(at, {of::Command::add, flow});

    const auto refusal = co_await client.commit(std::move(mods));
    if (!refusal) {
      for (const FlowChange& change : changes) {
        if (change.add.empty())
          observed_.flows.erase(change.cookie);
        else
          observed_.flows[change.cookie] = fingerprint(change.add);
      }
      co_return;
    }
    if (!refusal->change) {
      ready_ = ready_ && client.connected();  // what is there now is not known
      for (const FlowChange& change : changes) failures.try_emplace(change.id, refusal->error);
      co_return;
    }
    const std::size_t culprit = owner[*refusal->change];
    failures.try_emplace(changes[culprit].id, refusal->error);
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(culprit));
  }
}

Task<void> OvsFabric::remove_ports(const std::vector<std::string>& ids, Failures& failures) {
  using namespace wire::ovsdb;  // NOLINT
  std::vector<Atom> ports;
  std::vector<std::string> links;
  for (const std::string& id : ids) {
    const auto port = observed_.ports.find(id);
    if (port == observed_.ports.end() || failures.contains(id)) continue;
    links.push_back(port->second.name);
    const auto uuid = port_uuids_.find(port->second.name);
    if (uuid != port_uuids_.end()) ports.emplace_back(Uuid{uuid->second});
  }
  if (links.empty()) co_return;
  Result<> result;
  if (!ports.empty()) {
    JsonArray operations;
    operations.push_back(mutate("Bridge", {{"name", "==", options_.bridge}},
                                {{"ports", "delete", Value::set(std::move(ports))}}));
    const auto results = co_await ovsdb_.transact(std::move(operations));
    if (!results) result = fail(results.error());
  }
  if (result) {
    const auto work = [links] { return remove_links(links); };
    result = co_await runtime::blocking(runtime_, work);
  }
  for (const std::string& id : ids)
    if (!result) failures.try_emplace(id, result.error());
  if (result)
    for (const std::string& link : links) observed_.links.erase(link);
}

// Waits until ovs-vswitchd has carried out everything that the database holds now.
Task<Result<>> OvsFabric::settle() {
  using namespace wire::ovsdb;  // NOLINT
  JsonArray operations;
  operations.push_back(mutate("Open_vSwitch", {}, {{"next_cfg", "+=", std::int64_t{1}}}));
  operations.push_back(select("Open_vSwitch", {}, {"next_cfg"}));
  FL_CO_TRY(const auto results, co_await ovsdb_.transact(std::move(operations)));
  const auto& rows = results[1].rows;
  const std::int64_t wanted = rows.empty() ? 0 : rows[0].at("next_cfg").number().value_or(0);
  const Instant until = runtime_.now() + std::chrono::seconds(10);
  while (current_config_ < wanted) {
    if (!ovsdb_.connected()) co_return fail(Code::unavailable, "ovsdb: not connected");
    const auto wait = [](runtime::Signal& signal) -> Task<Result<>> {
      co_return co_await signal.wait();
    };
    const Result<> woken =
        co_await runtime::with_timeout(runtime_, until - runtime_.now(), wait(rows_changed_));
    if (!woken) co_return fail(woken.error().context("ovs: waiting for the switch"));
  }
  co_return Result<>{};
}

RestartView OvsFabric::restart_view() const {
  RestartView view{.datapath_type = options_.datapath_type,
                   .bridge = options_.bridge,
                   .waits = waits_,
                   .ours = waits_for_us_,
                   .started = started_};
  for (const auto& [name, uuid] : bridges_) view.bridges.push_back(name);
  return view;
}

// All flows are there: a switch that waits may go on, and is to wait when it starts the next time.
Task<Result<>> OvsFabric::prepare_restart() {
  using namespace wire::ovsdb;  // NOLINT
  using Texts = std::map<std::string, std::string>;
  const std::string key(kWaitKey);
  const std::string mark(kWaitMark);
  for (;;) {
    const RestartStep step = next_restart_step(restart_view());
    const bool wait = step == RestartStep::wait;
    if (step == RestartStep::nothing) {
      started_ = false;
      co_return Result<>{};
    }
    std::vector<Clause> changes = {{"other_config", "delete", key},
                                   {"external_ids", "delete", mark}};
    if (wait) changes.push_back({"other_config", "insert", Texts{{key, "true"}}});
    if (wait) changes.push_back({"external_ids", "insert", Texts{{mark, "true"}}});
    JsonArray operations;
    operations.push_back(mutate("Open_vSwitch", {}, changes));
    FL_CO_CHECKED(co_await ovsdb_.transact(std::move(operations)));
    waits_ = waits_for_us_ = wait;
    if (!wait) {
      FL_CO_CHECKED(co_await settle());
    }
    started_ = false;
  }
}

}  // namespace fairlead::fabric::ovs
