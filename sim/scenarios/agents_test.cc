// Virtual networks as a whole: API servers with their controllers on one store, and on every host
// the real agent with a data plane that outlives it, while users create and delete in every order,
// servers and agents die, freeze and are cut off, and fabrics fail and are disturbed.
//
// Promise 1 (NetworkChecker) and promise 4 (FabricChecker) after every revision and every change of
// a data plane; promise 3 by an informer of its own and, at rest, by the view of every agent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/store/memory_store.h"
#include "api/watchcache/stored_object.h"
#include "features/networks/kinds/test_catalog.h"
#include "features/networks/node/networks_node.h"
#include "foundation/base/check.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "node/agent/node_agent.h"
#include "sim/checkers/fabric_checker.h"
#include "sim/checkers/network_checker.h"
#include "sim/models/lagging_store.h"
#include "sim/models/sim_fabric.h"
#include "sim/scenarios/api_scenario.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

const client::ResourceName kSubnets{"fairlead.dev", "v1alpha1", "subnets", true};
const client::ResourceName kAttachments{"fairlead.dev", "v1alpha1", "networkattachments", true};
const client::ResourceName kNodes{"", "v1", "nodes", false};
const client::ResourceName kNamespaces{"", "v1", "namespaces", false};
const std::string kHook = "/bin/hook";

constexpr Duration kStorm = 5s;
constexpr Duration kLongestRest = 400s;

// What all seeds together must have seen; a quiet one may have seen little.
struct Seen {
  std::size_t assignments = 0;
  std::size_t reused = 0;                 // addresses that went from one attachment to another
  std::size_t reused_after_carrying = 0;  // … which some host had carried
  std::size_t removed_while_cut = 0;      // deletions while an agent could not hear of them
  std::size_t removed_while_down = 0;
  std::size_t removed_while_paused = 0;
  std::size_t adopted = 0;  // interfaces that a new agent found
  std::size_t mended = 0;
  std::size_t failures = 0;
  std::size_t disturbances = 0;
  std::size_t nodes_removed = 0;
  std::size_t excused = 0;
  std::size_t hooks = 0;
  std::size_t lists = 0;
};

struct Host {
  Host(Machine& machine, Ip ip, HostPlane::Changed changed)
      : address(ip), plane(machine, std::move(changed)), processes(plane) {}
  Ip address;
  HostPlane plane;
  SimProcesses processes;
  networks::NetworksNode* agent = nullptr;  // while one runs
};

// What one attachment is at one version, for the judge of histories.
std::string gist_of(const Json& object) {
  return fmt::format("{} {} {} {}", wire::find_string(object, "metadata.uid"),
                     fmt::format("{},{}", std::string(wire::find_string(object, "status.ipv4")),
                                 std::string(wire::find_string(object, "status.ipv6"))),
                     wire::find_string(object, "status.ifcName"),
                     wire::find_string(object, "status.hostIP"));
}

struct Story {
  explicit Story(World& in) : world(in) {}

  World& world;
  std::vector<std::string> servers;
  std::unique_ptr<store::MemoryStore> store;
  std::vector<std::unique_ptr<Host>> hosts;
  NetworkChecker addresses;
  FabricChecker fabrics;
  HistoryChecker history;
  HistoryChecker::Contents contents;  // of attachments, as the store has them
  RecordingSink sink{history.watcher("observer"), gist_of};
  Duration audit_interval{};
  bool busy = true;
  int users = 0;  // that have not finished
  Seen seen;

  void committed(const store::ChangeBatch& batch) {
    static const resource::Kind& kind =
        *networks::test_catalog().find("fairlead.dev", "v1alpha1", "networkattachments");
    static const std::string prefix = watchcache::kind_prefix(kind);
    for (const store::Change& change : batch.changes) {
      if (!change.current.key.starts_with(prefix)) continue;
      const std::string key = change.current.key.substr(prefix.size());
      HistoryEvent event{change.current.modified.number(), key, std::nullopt};
      if (change.erased) {
        contents.erase(key);
        count_removal();
      } else {
        const auto object =
            watchcache::decode_stored(kind, change.current.value.view(), change.current.modified);
        CHECK(object.has_value());
        event.value = gist_of((*object)->decode());
        contents[key] = *event.value;
      }
      history.happened(std::move(event));
    }
    addresses.take_in(batch);
    fabrics.take_in(batch);
  }

  void count_removal() {
    for (const std::unique_ptr<Host>& host : hosts) {
      Machine& machine = host->plane.machine();
      bool reaches = false;
      for (const std::string& server : servers)
        reaches |= world.network().link(world.machine(server), machine).passes();
      seen.removed_while_cut += !reaches;
      seen.removed_while_down += !machine.up();
      seen.removed_while_paused += machine.state() == Machine::State::paused;
    }
  }
};

// The store as one server has it; the judges see every commit at the moment at which it is made.
class JudgedStore final : public store::Store {
 public:
  JudgedStore(store::Store& inner, Story& story) : inner_(inner), story_(story) {}
  Task<Result<store::Revision>> revision() override { return inner_.revision(); }
  Task<Result<std::optional<store::KeyValue>>> get(std::string key) override {
    return inner_.get(std::move(key));
  }
  Task<Result<store::Listing>> list(std::string prefix, store::ListOptions options) override {
    return inner_.list(std::move(prefix), std::move(options));
  }
  Task<Result<store::Committed>> commit(store::Transaction transaction) override {
    std::vector<store::Operation> operations = transaction.operations;
    Result<store::Committed> committed = co_await inner_.commit(std::move(transaction));
    if (!committed || operations.empty()) co_return committed;
    store::ChangeBatch batch{.revision = committed->revision, .changes = {}};
    for (store::Operation& operation : operations) {
      const store::Place place{committed->revision,
                               static_cast<std::uint32_t>(batch.changes.size())};
      batch.changes.push_back({.current = {.key = std::move(operation.key),
                                           .value = std::move(operation.value),
                                           .modified = place},
                               .erased = operation.kind == store::Operation::Kind::erase});
    }
    story_.committed(batch);
    co_return committed;
  }
  Result<std::unique_ptr<store::Watch>> watch(std::string prefix, store::Revision after) override {
    return inner_.watch(std::move(prefix), after);
  }
  Task<Result<>> compact(store::Revision before) override { return inner_.compact(before); }

 private:
  store::Store& inner_;
  Story& story_;
};

Task<void> serve(Machine& machine, Story& story) {
  JudgedStore judged(*story.store, story);
  LaggingStore store(machine, judged);
  co_await serve_api(machine, store, {.history = {.events = 128}, .networks = true}, [] {});
}

struct Unpublish {
  Host& host;
  ~Unpublish() { host.agent = nullptr; }
};

Task<void> run_agent(Machine& machine, Story& story, Host& host) {
  std::vector<std::string> servers = story.servers;
  if (machine.random() % 2 == 0) std::ranges::reverse(servers);
  Access access = node_access(machine.name(), servers);
  agent::AgentOptions options{.node = machine.name(), .host = host.address};
  options.api.emplace().config = std::move(access.config);
  options.rest = std::move(access.rest);
  SimFabric fabric(host.plane);
  networks::NetworksOptions networks{.host = host.address, .audit_interval = story.audit_interval};
  networks.hooks.allowed_programs = {kHook};
  const auto opened = agent::NodeAgent::open(
      machine, std::move(options),
      {networks::networks_feature(std::move(networks),
                                  {.fabric = fabric, .processes = host.processes})});
  CHECK(opened.has_value());
  const Unpublish unpublish{host};
  host.agent = dynamic_cast<networks::NetworksNode*>((*opened)->feature("networks"));
  CHECK(host.agent != nullptr);
  co_await (*opened)->run();
}

Task<void> observe(Machine& machine, Story& story) {
  const std::unique_ptr<client::RestClient> api = connect_admin(machine, story.servers);
  client::Reflector reflector(machine, *api, {.resource = kAttachments, .page = 3}, story.sink);
  co_await reflector.run();
}

// ---- users

Json object_of(const std::string& ns, const std::string& name, JsonObject spec) {
  JsonObject metadata{{"name", name}};
  if (!ns.empty()) metadata["namespace"] = ns;
  JsonObject object{{"metadata", std::move(metadata)}};
  if (!spec.empty()) object["spec"] = std::move(spec);
  return object;
}

class User {
 public:
  User(Machine& machine, Story& story)
      : machine_(machine), api_(connect_admin(machine, story.servers)) {}

  std::uint64_t any(std::uint64_t of) { return machine_.random() % of; }
  Task<Result<>> pause(std::uint64_t most_ms) {
    return runtime::sleep(machine_, Duration(1ms) * any(most_ms));
  }

  // What the server says of it is its own affair; a user who hears nothing goes on.
  Task<Result<>> create(client::ResourceName kind, std::string ns, Json object) {
    Task<Result<Json>> creating = api_->create(std::move(kind), std::move(ns), std::move(object));
    const Result<Json> created = co_await runtime::with_timeout(machine_, 2s, std::move(creating));
    if (!created) co_return fail(created.error());
    co_return Result<>{};
  }
  Task<Result<>> remove(client::ResourceName kind, std::string ns, std::string name) {
    Task<Result<>> removing = api_->remove(std::move(kind), std::move(ns), std::move(name));
    co_return co_await runtime::with_timeout(machine_, 2s, std::move(removing));
  }
  // Until it is there.
  Task<Result<>> insist(client::ResourceName kind, std::string name) {
    for (;;) {
      const Result<> created = co_await create(kind, "", object_of("", name, {}));
      if (created || created.error().code == Code::already_exists) co_return Result<>{};
      if (created.error().code == Code::cancelled) co_return created;
      FL_CO_CHECKED(co_await pause(200));
    }
  }

 private:
  Machine& machine_;
  std::unique_ptr<client::RestClient> api_;
};

Task<void> create_something(User& user, std::string ns) {
  static const std::vector<JsonObject> kBlocks{
      {{"ipv4", "10.0.0.0/29"}}, {{"ipv4", "10.0.0.0/28"}},
      {{"ipv4", "10.0.0.8/29"}}, {{"ipv6", "fd00::/125"}},
      {{"ipv6", "fd00::8/126"}}, {{"ipv4", "10.0.0.0/29"}, {"ipv6", "fd00::/126"}}};
  const std::string subnet = fmt::format("s{}", std::min(user.any(6) / 2, user.any(3)));
  if (user.any(10) == 0) {
    JsonObject spec = kBlocks[user.any(kBlocks.size())];
    spec["vni"] = 1 + user.any(2);
    Json object = object_of(ns, subnet, std::move(spec));
    (void)co_await user.create(kSubnets, ns, std::move(object));
    co_return;
  }
  JsonObject spec{{"node", user.any(20) == 0 ? "ghost" : fmt::format("n{}", user.any(3))},
                  {"subnet", subnet}};
  if (user.any(8) == 0) spec["fixedIPv4"] = fmt::format("10.0.0.{}", 2 + user.any(6));
  if (user.any(12) == 0) spec["fixedIPv6"] = fmt::format("fd00::{}", 2 + user.any(6));
  if (user.any(3) == 0) {
    spec["postCreateExec"] = JsonArray{Json(kHook), "${ifname}"};
    spec["postDeleteExec"] = JsonArray{Json(kHook), "${ifname}"};
  }
  Json object = object_of(ns, fmt::format("na{}", user.any(9)), std::move(spec));
  (void)co_await user.create(kAttachments, ns, std::move(object));
}

// Few names, few addresses, two namespaces and two networks: everything collides.
Task<void> use_networks(Machine& machine, Story& story, bool removes_nodes) {
  User user(machine, story);
  for (const char* node : {"n0", "n1", "n2"})
    if (!co_await user.insist(kNodes, node)) co_return;
  if (!co_await user.insist(kNamespaces, "b")) co_return;
  for (const int vni : {1, 2}) {
    JsonObject spec{{"vni", vni}, {"ipv4", "10.0.0.0/29"}};
    if (vni == 2) spec["ipv6"] = "fd00::/125";
    Json first = object_of("default", fmt::format("s{}", vni - 1), std::move(spec));
    (void)co_await user.create(kSubnets, "default", std::move(first));
  }
  while (story.busy) {
    const std::string ns = user.any(5) == 0 ? "b" : "default";
    const std::uint64_t action = user.any(50);
    if (action == 0 && removes_nodes) {
      const std::string node = fmt::format("n{}", user.any(3));
      ++story.seen.nodes_removed;
      (void)co_await user.remove(kNodes, "", node);
      if (user.any(2) == 0 && !co_await user.pause(500)) co_return;
      if (!co_await user.insist(kNodes, node)) co_return;
    } else if (action == 1) {
      (void)co_await user.remove(kSubnets, ns, fmt::format("s{}", user.any(3)));
    } else if (action < 29) {
      co_await create_something(user, ns);
    } else {
      (void)co_await user.remove(kAttachments, ns, fmt::format("na{}", user.any(9)));
    }
    if (!co_await user.pause(150)) co_return;
  }
  --story.users;
}

// ---- the end

// postCreateExec ran for an interface that the agent which runs now has made, and in any case it
// was reported.
void check_hooks(const Story& story, Violations& violations) {
  for (const auto& [key, attachment] : story.fabrics.attachments()) {
    if (attachment.spec.post_create_exec.empty() || attachment.status.ifc_name.empty()) continue;
    if (!attachment.status.post_create_exec_report)
      violations.push_back(key + " has no report of its postCreateExec");
    for (const std::unique_ptr<Host>& host : story.hosts) {
      const std::string& interface = attachment.status.ifc_name;
      const HostPlane::Interface* made = host->plane.interface(interface);
      if (made && made->boot == host->plane.machine().boot() && !host->processes.ran_for(interface))
        violations.push_back(key + ": postCreateExec was not run for its interface");
    }
  }
}

// What is not as it should be once all is quiet.
Violations unsettled(const Story& story) {
  Violations violations = story.fabrics.rest();
  if (story.users > 0) violations.push_back("users are still busy");
  for (const std::unique_ptr<Host>& host : story.hosts) {
    const std::string& node = host->plane.node();
    if (!host->agent || !host->agent->readiness().ready) {
      violations.push_back("the agent of " + node + " is not ready");
      continue;
    }
    if (host->agent->view().desired() != story.fabrics.plan(node))
      violations.push_back("the agent of " + node + " does not see what there is");
  }
  if (story.sink.contents() != story.contents)
    violations.push_back("the observer does not see what there is");
  check_hooks(story, violations);
  NetworkChecker addresses = story.addresses;
  addresses.rest();
  if (!addresses.violation().empty()) violations.push_back(addresses.violation());
  return violations;
}

// What was already wrong on the way.
Result<> so_far(const Story& story) {
  if (!story.fabrics.violation().empty()) return fail(Code::internal, story.fabrics.violation());
  if (!story.addresses.violation().empty())
    return fail(Code::internal, story.addresses.violation());
  for (const std::unique_ptr<Host>& host : story.hosts)
    if (!host->plane.violation.empty()) return fail(Code::internal, host->plane.violation);
  return {};
}

void add_up(const Story& story, Seen& seen) {
  seen.assignments += story.addresses.assignments();
  seen.reused += story.fabrics.reused();
  seen.reused_after_carrying += story.fabrics.reused_after_carrying();
  seen.excused += story.fabrics.excused();
  seen.removed_while_cut += story.seen.removed_while_cut;
  seen.removed_while_down += story.seen.removed_while_down;
  seen.removed_while_paused += story.seen.removed_while_paused;
  seen.nodes_removed += story.seen.nodes_removed;
  seen.lists += story.sink.lists();
  for (const std::unique_ptr<Host>& host : story.hosts) {
    const HostPlane::Counts& counts = host->plane.counts();
    seen.adopted += counts.adopted;
    seen.mended += counts.mended;
    seen.failures += counts.failures;
    seen.disturbances += counts.disturbances;
    seen.hooks += host->processes.runs();
  }
}

// ---- the whole

void add_servers(World& world, Story& story, Random& random) {
  story.store = std::make_unique<store::MemoryStore>(world.add_machine("store"),
                                                     store::MemoryOptions{.history_changes = 400});
  for (std::uint64_t i = 0; i < 1 + random.below(2); ++i)
    story.servers.push_back(fmt::format("api{}", i));
  for (const std::string& server : story.servers)
    world.add_machine(server).start([&story](Machine& machine) { return serve(machine, story); });
}

void add_hosts(World& world, Story& story, Random& random) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    Machine& machine = world.add_machine(fmt::format("n{}", i));
    const Ip address = *Ip::parse(fmt::format("192.0.2.{}", 1 + i));
    auto changed = [&story, i](const std::string&, const fabric::Station* now) {
      if (now) story.fabrics.carried(story.hosts[i]->plane, *now);
    };
    story.hosts.push_back(std::make_unique<Host>(machine, address, std::move(changed)));
    Host& host = *story.hosts.back();
    story.fabrics.add_host(host.plane, address);
    host.plane.set_troubles({.failures_per_million = random.below(3) == 0 ? 200'000U : 20'000U});
    machine.start([&story, &host](Machine& on) { return run_agent(on, story, host); });
    for (std::uint64_t n = random.below(5); n > 0; --n)
      world.after(random.between(1s, kStorm), [&host] { host.plane.disturb(); });
    world.after(kStorm, [&host] { host.plane.set_troubles({}); });
  }
}

Result<> run_agents(World& world, Seen& seen) {
  Story& story = world.own<Story>(world);
  Random random = world.random_stream("agents");
  // Without regular audits only what fabrics tell, and what agents themselves do, mends anything.
  story.audit_interval = random.below(2) == 0 ? Duration(1h) : Duration(5s);
  add_servers(world, story, random);
  add_hosts(world, story, random);
  Machine& user = world.add_machine("user");
  for (const bool removes_nodes : {true, false}) {
    ++story.users;
    user.start([&story, removes_nodes](Machine& machine) {
      return use_networks(machine, story, removes_nodes);
    });
  }
  world.add_machine("observer").start([&story](Machine& machine) {
    return observe(machine, story);
  });
  std::vector<std::string> victims = story.servers;
  for (const std::unique_ptr<Host>& host : story.hosts) victims.push_back(host->plane.node());
  using Kind = Fault::Kind;
  const Nemesis& nemesis = world.own<Nemesis>(
      world, FaultSettings{.machines = victims,
                           .begin = 500ms,
                           .end = kStorm,
                           .pause_between = {.least = 50ms, .spread = 600ms},
                           .lasting = {.least = 50ms, .spread = 2s},
                           .victims_at_most = 2,
                           .kinds = {Kind::cut_one_way, Kind::cut_both_ways, Kind::isolate,
                                     Kind::slow, Kind::lossy, Kind::pause, Kind::kill, Kind::kill,
                                     Kind::power_loss, Kind::clock_rate, Kind::wall_step}});
  for (const Fault& fault : nemesis.plan())
    for (const std::unique_ptr<Host>& host : story.hosts)
      if (fault.kind == Kind::power_loss && fault.subject == host->plane.node())
        world.after(fault.at - world.now(), [&plane = host->plane] { plane.lose_power(); });
  world.run_for(kStorm);
  story.busy = false;
  Violations wrong{"never looked at"};
  for (Duration rested{}; rested < kLongestRest && !wrong.empty(); rested += 5s) {
    world.run_for(5s);
    wrong = unsettled(story);
  }
  FL_CHECKED(so_far(story));
  FL_CHECKED(as_result(wrong));
  world.run_for(3s);  // and it stays so
  FL_CHECKED(as_result(unsettled(story)));
  FL_CHECKED(so_far(story));
  story.sink.rest();
  FL_CHECKED(as_result(story.history.check()));
  add_up(story, seen);
  return {};
}

TEST(Agents, CarryWhatObjectsAskForAndNothingReleased) {
  log::set_level(seed_choice().only ? log::Level::warning : log::Level::error);
  Seen seen;
  EXPECT_TRUE(run_seeds({.count = 60}, [&seen](World& world) { return run_agents(world, seen); }));
  std::printf(
      "addresses: %zu assigned, %zu reused, %zu of them carried before; removals while an agent "
      "was cut off %zu, down %zu, paused %zu; adopted %zu, mended %zu, fabric failures %zu, "
      "disturbances %zu; Nodes removed %zu, excused %zu; hooks %zu; observer's lists %zu\n",
      seen.assignments, seen.reused, seen.reused_after_carrying, seen.removed_while_cut,
      seen.removed_while_down, seen.removed_while_paused, seen.adopted, seen.mended, seen.failures,
      seen.disturbances, seen.nodes_removed, seen.excused, seen.hooks, seen.lists);
  if (seed_choice().only) return;
  for (const std::size_t count :
       {seen.assignments, seen.reused_after_carrying, seen.removed_while_cut,
        seen.removed_while_down, seen.removed_while_paused, seen.adopted, seen.mended,
        seen.failures, seen.disturbances, seen.nodes_removed, seen.hooks})
    EXPECT_GT(count, 0U) << "something was not tested";
}

}  // namespace
}  // namespace fairlead::sim
