// Virtual IPs in the virtual world: engines on machines that are paused, killed, cut off, robbed of
// power and given wrong clocks; guards that clean up after engines; members that come and go. No
// two machines ever answer for one VIP, and when everything is healed every VIP has a holder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "foundation/base/log.h"
#include "sim/scenarios/vip_site.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

constexpr std::uint16_t kPort = 10'000;
const std::vector<std::string> kNames{"a", "b", "c"};

// What happened in all runs; runs in which little did show little.
struct Tally {
  std::size_t runs = 0, moves = 0, farewells = 0, granted = 0, disks_lost = 0, grown = 0;
};

std::string election_address(const Machine& machine) {
  return fmt::format("{}:{}", machine.address(), kPort);
}

struct Plan {
  std::vector<std::string> machines = kNames;
  std::vector<std::string> members = kNames;  // at first
};

// The engines' settings are those of the file on each machine: the members at first, and itself. In
// some sites the files differ in their times: those of the first leader count for all.
VipSite& build_site(World& world, Random& random, const Plan& plan = {}) {
  const std::optional<std::string> secret =
      random.below(4) == 0 ? std::nullopt : std::optional<std::string>("of the site");
  vip::Settings& first = world.own<vip::Settings>();
  const std::uint64_t spread = random.below(3) == 0 ? 400 : 1;  // milliseconds
  const auto open = [secret, spread, &first](Machine& machine, SimFence& kernel) {
    vip::Settings settings = first;
    settings.timing.lease += std::chrono::milliseconds(machine.random() % spread);
    if (!settings.find(machine.name()))
      settings.members.push_back({.name = machine.name(), .address = election_address(machine)});
    return vip::Engine::open({.runtime = machine, .fence = kernel, .interfaces = kernel},
                             {.node = machine.name(),
                              .listen = {.host = machine.address(), .port = kPort},
                              .state = VipSite::kElectionFile,
                              .secret = secret,
                              .settings = std::move(settings)});
  };
  VipSite& site = world.own<VipSite>(world, vip::Timing{}.margin, open);
  for (const std::string& name : plan.machines) {
    Machine& machine = site.add(name, random);
    if (std::ranges::count(plan.members, name) > 0)
      first.members.push_back({.name = name, .address = election_address(machine)});
  }
  site.start_all();
  return site;
}

void trouble(World& world, const std::vector<std::string>& machines, Duration end) {
  using Kind = Fault::Kind;
  world.own<Nemesis>(world, FaultSettings{.machines = machines,
                                          .begin = 2s,
                                          .end = end,
                                          .pause_between = {.least = 100ms, .spread = 2s},
                                          .lasting = {.least = 50ms, .spread = 2s},
                                          .victims_at_most = 2,
                                          .kinds = {Kind::cut_one_way, Kind::cut_both_ways,
                                                    Kind::isolate, Kind::slow, Kind::lossy,
                                                    Kind::pause, Kind::kill, Kind::power_loss}});
}

Strike any_strike(Random& random) {
  constexpr std::array kAll{Strike::kill_engine, Strike::kill_guard, Strike::stop_agent};
  return kAll[random.below(kAll.size())];
}

// What single faults seldom meet: a holder is stopped, and peers that promised it something die;
// holders and guards die of which nothing else is wrong.
void stop_holders_and_strike_peers(World& world, VipSite& site, Random& random, Duration end) {
  for (Duration at = 2s; at < end - 2s;
       at += Duration(static_cast<std::int64_t>(random.below(5'000'000'000)))) {
    const Duration later(static_cast<std::int64_t>(random.below(150'000'000)));
    const std::string first = site.names()[random.below(site.names().size())];
    const std::string second = site.names()[random.below(site.names().size())];
    const Strike one = any_strike(random), two = any_strike(random);
    if (random.below(2) == 0) world.after(at, [&site] { site.stop_holder(600ms); });
    world.after(at + later, [&site, first, one] { site.strike(first, one); });
    world.after(at + later * 2, [&site, second, two] { site.strike(second, two); });
    world.after(at + later * 3, [&site, first] { site.kernel(first).set_carrier(false); });
    world.after(at + later * 7, [&site, first] { site.kernel(first).set_carrier(true); });
  }
}

Result<> at_the_end(VipSite& site, Tally& tally) {
  ++tally.runs;
  tally.moves += site.judge().opened_first;
  tally.farewells += site.farewells;
  tally.granted += site.granted;
  return site.at_rest();
}

Result<> hold_through_faults(World& world, Tally& tally) {
  Random random = world.random_stream("site");
  VipSite& site = build_site(world, random);
  trouble(world, kNames, 28s);
  stop_holders_and_strike_peers(world, site, random, 28s);
  // One disk at most: nobody listens to its node any more, and the other two go on.
  if (random.below(4) == 0) {
    const std::string name = kNames[random.below(3)];
    world.after(5s + Duration(static_cast<std::int64_t>(random.below(20'000'000'000))),
                [&site, name] { site.strike(name, Strike::lose_disk); });
    ++tally.disks_lost;
  }
  world.run_for(35s);
  return at_the_end(site, tally);
}

// The same while members come and go: one, three, five, three of five machines.
Result<> hold_while_members_change(World& world, Tally& tally) {
  Random random = world.random_stream("site");
  const Plan plan{.machines = {"a", "b", "c", "d", "e"}, .members = {"a"}};
  VipSite& site = build_site(world, random, plan);
  trouble(world, plan.machines, 60s);
  stop_holders_and_strike_peers(world, site, random, 60s);
  const auto wish = [&](Duration at, bool add, const std::string& name) {
    for (int tries = 0; tries < 8; ++tries)
      for (const std::string& asked : plan.machines)
        world.after(at + tries * 500ms, [&world, &site, asked, add, name] {
          using Kind = vip::Wish::Kind;
          site.ask(asked, {.kind = add ? Kind::add_member : Kind::remove_member,
                           .vip = {},
                           .node = name,
                           .address = add ? election_address(world.machine(name)) : ""});
        });
  };
  wish(4s, true, "b");
  wish(9s, true, "c");
  wish(16s, true, "d");
  wish(23s, true, "e");
  wish(32s, false, plan.machines[random.below(5)]);
  wish(44s, false, plan.machines[random.below(5)]);
  world.run_for(31s);
  if (site.most_members() == plan.machines.size()) ++tally.grown;
  world.run_for(41s);
  return at_the_end(site, tally);
}

// A holder whose interface loses its carrier is relieved by one that has one.
Result<> move_off_a_dead_interface(World& world) {
  Random random = world.random_stream("site");
  VipSite& site = build_site(world, random);
  world.run_for(5s);
  for (const Ip& vip : VipSite::addresses()) {
    const std::vector<std::string> before = site.holders_of(vip);
    if (before.size() != 1) return fail(Code::internal, "no holder at the beginning");
    site.kernel(before.front()).set_carrier(false);
    world.run_for(2s);
    const std::vector<std::string> after = site.holders_of(vip);
    if (after.size() != 1 || after == before)
      return fail(Code::internal, fmt::format("{} stayed on {}", vip.to_string(), before.front()));
    site.kernel(before.front()).set_carrier(true);
  }
  return site.at_rest();
}

TEST(VirtualIps, MovesOffADeadInterface) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 20, .repeat = 2}, move_off_a_dead_interface));
  log::set_level(log::Level::info);
}

// Who is killed has a guard that says so: nobody waits for the lease.
Result<> say_farewell(World& world) {
  Random random = world.random_stream("site");
  VipSite& site = build_site(world, random);
  world.run_for(5s);
  const Ip vip = VipSite::addresses().front();
  const std::vector<std::string> before = site.holders_of(vip);
  if (before.size() != 1) return fail(Code::internal, "no holder at the beginning");
  site.strike(before.front(), Strike::kill_engine);
  world.run_for(vip::Timing{}.lease / 3);
  if (site.holders_of(vip).size() != 1)  // another one, or the same one's next engine
    return fail(Code::internal, "nobody holds it after a third of a lease" + site.beliefs());
  world.run_for(5s);
  return site.at_rest();
}

TEST(VirtualIps, NobodyWaitsForTheLeaseOfWhoWasKilled) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 20, .repeat = 2}, say_farewell));
  log::set_level(log::Level::info);
}

// A VIP that a machine outside the election has is not taken, until that has gone; once a member
// has held it, nothing of that kind holds up a failover.
Result<> respect_strangers(World& world) {
  Random random = world.random_stream("site");
  VipSite& site = build_site(world, random);
  for (const std::string& name : kNames) site.kernel(name).set_stranger(true);
  world.run_for(5s);
  const Ip vip = VipSite::addresses().front();
  if (!site.holders_of(vip).empty()) return fail(Code::internal, "it was taken from a stranger");
  for (const std::string& name : kNames) site.kernel(name).set_stranger(false);
  world.run_for(2s);
  const std::vector<std::string> before = site.holders_of(vip);
  if (before.size() != 1) return fail(Code::internal, "nobody took it when it was free");
  for (const std::string& name : kNames) site.kernel(name).set_stranger(true);
  world.machine(before.front()).crash();
  world.run_for(2s);
  if (site.holders_of(vip).size() != 1) return fail(Code::internal, "no failover");
  return {};
}

TEST(VirtualIps, AreNotTakenFromStrangers) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 20, .repeat = 2}, respect_strangers));
  log::set_level(log::Level::info);
}

void expect_that_much_happened(const Tally& tally) {
  fmt::print(
      "{} runs: {} moves, {} farewells of guards, {} disks lost, {} wishes granted, {} times all "
      "were members\n",
      tally.runs, tally.moves, tally.farewells, tally.disks_lost, tally.granted, tally.grown);
  if (tally.runs < 10) return;  // somebody looks at a few seeds
  EXPECT_GT(tally.moves, 5 * tally.runs);
  EXPECT_GT(tally.farewells, 5 * tally.runs);
}

TEST(VirtualIps, NeverTwoHolders) {
  log::set_level(log::Level::error);
  Tally tally;
  EXPECT_TRUE(run_seeds({.count = 100, .repeat = 10},
                        [&](World& world) { return hold_through_faults(world, tally); }));
  expect_that_much_happened(tally);
  log::set_level(log::Level::info);
}

TEST(VirtualIps, NeverTwoHoldersWhileMembersComeAndGo) {
  log::set_level(log::Level::error);
  Tally tally;
  EXPECT_TRUE(run_seeds({.count = 50, .cost = 4, .repeat = 5},
                        [&](World& world) { return hold_while_members_change(world, tally); }));
  expect_that_much_happened(tally);
  if (tally.runs >= 10) {
    EXPECT_GT(tally.granted, 4 * tally.runs);
    EXPECT_GT(tally.grown, tally.runs / 5);
  }
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace fairlead::sim
