// Virtual IPs in the virtual world: engines on machines that are paused, killed, cut off, robbed of
// power and given wrong clocks; guards that clean up after engines; members that come and go. No
// two machines ever answer for one VIP, and when everything is healed every VIP has a holder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "features/vip/engine/engine.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "sim/models/sim_fence.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

constexpr std::uint16_t kPort = 10'000;
const std::vector<std::string> kNames{"a", "b", "c"};

std::vector<Ip> addresses() { return {*Ip::parse("10.9.0.75"), *Ip::parse("fd09::75")}; }

struct Node {
  std::unique_ptr<SimFence> kernel;
  runtime::Signal end_engine;  // by kill -9, or in order; the guard goes on
};

struct Site {
  explicit Site(World& world) : judge(world) {}
  FenceJudge judge;
  vip::Timing timing;
  vip::Settings settings;
  std::map<std::string, Node> nodes;
};

// The guard: one engine after the other.
Task<void> guard(Machine& machine, Site& site) {
  Node& node = site.nodes.at(machine.name());
  for (;;) {
    node.kernel->close_all();
    if (!co_await runtime::sleep(machine, site.timing.margin)) co_return;
    auto opened =
        vip::Engine::open({.runtime = machine, .fence = *node.kernel, .interfaces = *node.kernel},
                          {.node = machine.name(),
                           .listen = {.host = machine.address(), .port = kPort},
                           .state = "/election.json",
                           .secret = "of the site",
                           .settings = site.settings});
    CHECK(opened.has_value());
    const std::unique_ptr<vip::Engine> engine = std::move(*opened);
    std::vector<vip::VipConfig> vips;
    for (const Ip& address : addresses())
      vips.push_back({.address = address, .interface = "eth0", .options = {}});
    engine->offer(std::move(vips));
    {
      runtime::Scope scope(machine);
      scope.spawn(engine->run());
      const Result<> killed = co_await node.end_engine.wait();
      if (!killed) co_return;
      if (machine.random() % 2 == 0) co_await engine->retire();  // as at the end of a service
    }  // destroyed where it stands
  }
}

void stop_holder(World& world, Site& site) {
  const std::string name = site.judge.last[addresses().front()];
  if (name.empty() || world.machine(name).state() != Machine::State::up) return;
  world.machine(name).pause();
  world.after(600ms, [&world, name] {
    if (world.machine(name).state() == Machine::State::paused) world.machine(name).resume();
  });
}

Site& build_site(World& world, Random& random) {
  Site& site = world.own<Site>(world);
  for (const std::string& name : kNames) {
    const auto rate = static_cast<std::int64_t>(random.below(1'001)) - 500;  // half the drift each
    Machine& machine = world.add_machine(name, {.clock_rate_ppm = rate});
    site.settings.members.push_back(
        {.name = name, .address = machine.address() + ":" + std::to_string(kPort)});
    site.nodes[name].kernel = std::make_unique<SimFence>(machine, site.judge, site.timing.margin);
  }
  for (const std::string& name : kNames)
    world.machine(name).start([&site](Machine& machine) { return guard(machine, site); });
  return site;
}

// The machines that answer for the VIP now.
std::vector<std::string> holders_of(Site& site, const Ip& vip) {
  std::vector<std::string> names;
  for (auto& [name, node] : site.nodes)
    if (node.kernel->answers(vip)) names.push_back(name);
  return names;
}

Result<> hold_through_faults(World& world) {
  Random random = world.random_stream("site");
  Site& site = build_site(world, random);
  using Kind = Fault::Kind;
  world.own<Nemesis>(world, FaultSettings{.machines = kNames,
                                          .begin = 2s,
                                          .end = 60s,
                                          .pause_between = {.least = 100ms, .spread = 2s},
                                          .lasting = {.least = 50ms, .spread = 2s},
                                          .victims_at_most = 2,
                                          .kinds = {Kind::cut_one_way, Kind::cut_both_ways,
                                                    Kind::isolate, Kind::slow, Kind::lossy,
                                                    Kind::pause, Kind::kill, Kind::power_loss}});
  // What single faults seldom meet: a holder is stopped, and peers that promised it something die.
  for (int i = 0; i < 20; ++i) {
    const Duration at = 2s + Duration(static_cast<std::int64_t>(random.below(55'000'000'000)));
    const Duration later(static_cast<std::int64_t>(random.below(150'000'000)));
    const std::string first = kNames[random.below(3)], second = kNames[random.below(3)];
    world.after(at, [&world, &site] { stop_holder(world, site); });
    world.after(at + later, [&site, first] { site.nodes.at(first).end_engine.notify(); });
    world.after(at + later * 2, [&site, second] { site.nodes.at(second).end_engine.notify(); });
    world.after(at + later * 3,
                [&site, first] { site.nodes.at(first).kernel->set_carrier(false); });
    world.after(at + later * 7, [&site, first] { site.nodes.at(first).kernel->set_carrier(true); });
  }
  world.run_for(65s);
  if (!site.judge.violations.empty()) return fail(Code::internal, site.judge.violations.front());
  for (const Ip& address : addresses())
    if (const auto holders = holders_of(site, address); holders.size() != 1)
      return fail(Code::internal,
                  fmt::format("{} has {} holders at the end", address.to_string(), holders.size()));
  if (site.judge.opened_first < 2) return fail(Code::internal, "nothing was ever held");
  return {};
}

// A holder whose interface loses its carrier is relieved by one that has one.
Result<> move_off_a_dead_interface(World& world) {
  Random random = world.random_stream("site");
  Site& site = build_site(world, random);
  world.run_for(5s);
  for (const Ip& vip : addresses()) {
    const std::vector<std::string> before = holders_of(site, vip);
    if (before.size() != 1) return fail(Code::internal, "no holder at the beginning");
    site.nodes.at(before.front()).kernel->set_carrier(false);
    world.run_for(2s);
    const std::vector<std::string> after = holders_of(site, vip);
    if (after.size() != 1 || after == before)
      return fail(Code::internal, fmt::format("{} stayed on {}", vip.to_string(), before.front()));
    site.nodes.at(before.front()).kernel->set_carrier(true);
  }
  if (!site.judge.violations.empty()) return fail(Code::internal, site.judge.violations.front());
  return {};
}

TEST(VirtualIps, MovesOffADeadInterface) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 20, .repeat = 2}, move_off_a_dead_interface));
  log::set_level(log::Level::info);
}

// A VIP that a machine outside the election has is not taken, until that has gone; once a member
// has held it, nothing of that kind holds up a failover.
Result<> respect_strangers(World& world) {
  Random random = world.random_stream("site");
  Site& site = build_site(world, random);
  for (auto& [name, node] : site.nodes) node.kernel->set_stranger(true);
  world.run_for(5s);
  const Ip vip = addresses().front();
  if (!holders_of(site, vip).empty()) return fail(Code::internal, "it was taken from a stranger");
  for (auto& [name, node] : site.nodes) node.kernel->set_stranger(false);
  world.run_for(2s);
  const std::vector<std::string> before = holders_of(site, vip);
  if (before.size() != 1) return fail(Code::internal, "nobody took it when it was free");
  for (auto& [name, node] : site.nodes) node.kernel->set_stranger(true);
  world.machine(before.front()).crash();
  world.run_for(2s);
  if (holders_of(site, vip).size() != 1) return fail(Code::internal, "no failover");
  return {};
}

TEST(VirtualIps, AreNotTakenFromStrangers) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 20, .repeat = 2}, respect_strangers));
  log::set_level(log::Level::info);
}

TEST(VirtualIps, NeverTwoHolders) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 100, .cost = 2, .repeat = 5}, hold_through_faults));
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace fairlead::sim
