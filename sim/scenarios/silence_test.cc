// An agent dies, or its machine stops: its Node and its attachments say so, those made meanwhile
// included; when it is back all of them are what they were. No agent that lives is ever called
// silent, whatever happens to servers meanwhile.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/resource/condition.h"
#include "api/store/memory_store.h"
#include "features/networks/node/networks_node.h"
#include "foundation/base/check.h"
#include "foundation/base/log.h"
#include "node/agent/node_agent.h"
#include "sim/models/lagging_store.h"
#include "sim/models/sim_fabric.h"
#include "sim/scenarios/api_scenario.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

const client::ResourceName kSubnets{"fairlead.dev", "v1alpha1", "subnets", true};
const client::ResourceName kAttachments{"fairlead.dev", "v1alpha1", "networkattachments", true};
const client::ResourceName kReports{"fairlead.dev", "v1alpha1", "nodereports", false};
const client::ResourceName kNodes{"", "v1", "nodes", false};
constexpr int kHosts = 3;
constexpr Duration kTroubles = 30s;     // of servers, after the victim has died
constexpr Duration kNoticed = 2 * 60s;  // grace, and once more after the last trouble
constexpr Duration kRecovered = 2 * 60s;

struct Host {
  Host(Machine& machine, Ip ip)
      : address(ip),
        plane(machine, [](const std::string&, const fabric::Station*) {}),
        processes(plane) {}
  Ip address;
  HostPlane plane;
  SimProcesses processes;
};

// What an onlooker sees of one kind, by name.
class Seen final : public client::ObjectSink {
 public:
  void replace(std::vector<Json> objects, const std::string&) override {
    objects_.clear();
    for (const Json& object : objects) put(object);
  }
  void put(const Json& object) override {
    objects_[std::string(wire::find_string(object, "metadata.name"))] = object;
    if (watch_) watch_(object);
  }
  void erase(const Json& last) override {
    objects_.erase(std::string(wire::find_string(last, "metadata.name")));
  }
  void watch(std::function<void(const Json&)> watch) { watch_ = std::move(watch); }

  // "STATUS REASON" of the condition Ready; empty: it says nothing.
  std::string ready(const std::string& name) const {
    const auto at = objects_.find(name);
    const Json* ready =
        at == objects_.end() ? nullptr : resource::find_condition(at->second, resource::kReady);
    if (!ready) return {};
    return fmt::format("{} {}", std::string(wire::find_string(*ready, "status")),
                       std::string(wire::find_string(*ready, "reason")));
  }
  const std::map<std::string, Json>& objects() const { return objects_; }

 private:
  std::map<std::string, Json> objects_;
  std::function<void(const Json&)> watch_;
};

struct Story {
  std::vector<std::string> servers;
  std::unique_ptr<store::MemoryStore> store;
  std::vector<std::unique_ptr<Host>> hosts;
  Seen nodes, attachments, reports;
  std::string victim;
  bool late = false;  // the user is to make one more on the victim
  std::string wrong;

  // What each attachment and each Node says must be: ready, but for those of `silent`.
  std::string unlike(const std::string& silent) const {
    for (const std::unique_ptr<Host>& host : hosts) {
      const std::string& node = host->plane.node();
      const std::string want = node == silent ? "Unknown NodeStatusUnknown" : "True AgentAlive";
      if (nodes.ready(node) != want) return node + ": " + nodes.ready(node);
    }
    std::size_t count = 0;
    for (const auto& [name, object] : attachments.objects()) {
      const bool hit = wire::find_string(object, "spec.node") == silent;
      const bool made = !wire::find_string(object, "status.ifcName").empty();
      const std::string want = !hit   ? "True Implemented"
                               : made ? "Unknown AgentSilent"
                                      : "False AgentSilent";
      if (attachments.ready(name) != want) return name + ": " + attachments.ready(name);
      ++count;
    }
    const std::size_t expected = 2 * hosts.size() + late;
    return count == expected ? "" : fmt::format("{} attachments", count);
  }
};

Task<void> serve(Machine& machine, Story& story) {
  LaggingStore store(machine, *story.store);
  co_await serve_api(machine, store, {.history = {.events = 128}, .networks = true}, [] {});
}

Task<void> run_agent(Machine& machine, Story& story, Host& host) {
  Access access = node_access(machine.name(), story.servers);
  agent::AgentOptions options{.node = machine.name(), .host = host.address};
  options.api.emplace().config = std::move(access.config);
  options.rest = std::move(access.rest);
  SimFabric fabric(host.plane);
  const auto opened = agent::NodeAgent::open(
      machine, std::move(options),
      {networks::networks_feature({.host = host.address},
                                  {.fabric = fabric, .processes = host.processes})});
  CHECK(opened.has_value());
  co_await (*opened)->run();
}

Task<void> look(Machine& machine, Story& story, client::ResourceName kind, Seen& seen) {
  const std::unique_ptr<client::RestClient> api = connect_admin(machine, story.servers);
  client::Reflector reflector(machine, *api, {.resource = std::move(kind)}, seen);
  co_await reflector.run();
}

// Until it is there.
Task<Result<>> make(Machine& machine, client::RestClient& api, client::ResourceName kind,
                    std::string ns, std::string name, JsonObject spec) {
  for (;;) {
    JsonObject metadata{{"name", name}};
    if (!ns.empty()) metadata["namespace"] = ns;
    Json object = JsonObject{{"metadata", std::move(metadata)}};
    if (!spec.empty()) object.get_object()["spec"] = spec;
    Task<Result<Json>> creating = api.create(kind, ns, std::move(object));
    const Result<Json> made = co_await runtime::with_timeout(machine, 2s, std::move(creating));
    if (made || made.error().code == Code::already_exists) co_return Result<>{};
    if (made.error().code == Code::cancelled) co_return fail(made.error());
    FL_CO_CHECKED(co_await runtime::sleep(machine, 100ms));
  }
}

Task<void> use(Machine& machine, Story& story) {
  const std::unique_ptr<client::RestClient> api = connect_admin(machine, story.servers);
  for (int i = 0; i < kHosts; ++i)
    if (!co_await make(machine, *api, kNodes, "", fmt::format("n{}", i), {})) co_return;
  const JsonObject block{{"vni", 1}, {"ipv4", "10.0.0.0/24"}};
  if (!co_await make(machine, *api, kSubnets, "default", "s", block)) co_return;
  for (int i = 0; i < 2 * kHosts; ++i) {
    const JsonObject spec{{"node", fmt::format("n{}", i % kHosts)}, {"subnet", "s"}};
    if (!co_await make(machine, *api, kAttachments, "default", fmt::format("a{}", i), spec))
      co_return;
  }
  while (!story.late)
    if (!co_await runtime::sleep(machine, 1s)) co_return;
  const JsonObject spec{{"node", story.victim}, {"subnet", "s"}};
  (void)co_await make(machine, *api, kAttachments, "default", "late", spec);
}

void trouble_servers(World& world, Story& story, Random& random) {
  for (std::uint64_t n = random.below(4); n > 0; --n) {
    Machine& server = world.machine(story.servers[random.below(story.servers.size())]);
    const Duration at = random.between(1s, kTroubles), lasting = random.between(1s, 8s);
    if (random.below(2) == 0) {
      world.after(at, [&server] {
        if (server.state() == Machine::State::up) server.pause();
      });
      world.after(at + lasting, [&server] {
        if (server.state() == Machine::State::paused) server.resume();
      });
    } else {
      world.after(at, [&server] {
        if (server.state() == Machine::State::up) server.crash(Crash::kill());
      });
      world.after(at + lasting, [&server] {
        if (!server.up()) server.restart();
      });
    }
  }
}

Result<> fall_silent(World& world) {
  Story& story = world.own<Story>();
  Random random = world.random_stream("silence");
  story.store = std::make_unique<store::MemoryStore>(world.add_machine("store"),
                                                     store::MemoryOptions{.history_changes = 400});
  for (std::uint64_t i = 0; i < 1 + random.below(2); ++i)
    story.servers.push_back(fmt::format("api{}", i));
  for (const std::string& server : story.servers)
    world.add_machine(server).start([&story](Machine& machine) { return serve(machine, story); });
  for (int i = 0; i < kHosts; ++i) {
    Machine& machine = world.add_machine(fmt::format("n{}", i));
    const Ip address = *Ip::parse(fmt::format("192.0.2.{}", 1 + i));
    story.hosts.push_back(std::make_unique<Host>(machine, address));
    Host& host = *story.hosts.back();
    machine.start([&story, &host](Machine& on) { return run_agent(on, story, host); });
  }
  story.reports.watch([&story](const Json& report) {
    const std::string_view name = wire::find_string(report, "metadata.name");
    const bool silent = !wire::find_string(report, "silentSince").empty();
    if (silent && name != story.victim) story.wrong = std::string(name) + " was called silent";
  });
  Machine& onlooker = world.add_machine("onlooker");
  onlooker.start([&](Machine& on) { return look(on, story, kNodes, story.nodes); });
  onlooker.start([&](Machine& on) { return look(on, story, kAttachments, story.attachments); });
  onlooker.start([&](Machine& on) { return look(on, story, kReports, story.reports); });
  world.add_machine("user").start([&story](Machine& on) { return use(on, story); });
  if (!world.run_until([&] { return story.unlike("").empty(); }, 60s))
    return fail(Code::internal, "never ready: " + story.unlike(""));

  Machine& victim = world.machine(fmt::format("n{}", random.below(kHosts)));
  story.victim = victim.name();
  const bool dies = random.below(2) == 0;
  if (dies) {
    victim.crash(Crash::kill());
  } else {
    victim.pause();
  }
  trouble_servers(world, story, random);
  world.after(random.between(1s, 90s), [&story] { story.late = true; });
  world.run_for(kTroubles);
  const bool noticed =
      world.run_until([&] { return story.late && story.unlike(story.victim).empty(); }, kNoticed);
  if (!noticed) return fail(Code::internal, "not noticed: " + story.unlike(story.victim));
  world.run_for(random.between(1s, 60s));
  if (const std::string other = story.unlike(story.victim); !other.empty())
    return fail(Code::internal, "forgotten: " + other);
  if (dies) {
    victim.restart();
  } else {
    victim.resume();
  }
  if (!world.run_until([&] { return story.unlike("").empty(); }, kRecovered))
    return fail(Code::internal, "never back: " + story.unlike(""));
  world.run_for(60s);
  if (const std::string other = story.unlike(""); !other.empty())
    return fail(Code::internal, "silent again: " + other);
  if (!story.wrong.empty()) return fail(Code::internal, story.wrong);
  return {};
}

TEST(Silence, IsNoticedAndEnds) {
  log::set_level(seed_choice().only ? log::Level::warning : log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 60}, fall_silent));
}

}  // namespace
}  // namespace fairlead::sim
