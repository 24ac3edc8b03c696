// The product's leader election in the virtual world: candidates on machines whose clocks run fast
// and slow, which are paused, killed and cut off, and a Lease in the real API server. Whoever acts
// as leader never does so after another one has begun to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/client/leader_election.h"
#include "api/store/memory_store.h"
#include "foundation/base/log.h"
#include "sim/scenarios/api_scenario.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

constexpr std::int64_t kClockPpm = 150'000;  // clocks are wrong by up to fifteen percent

struct Election {
  client::ElectionTimes times;
  std::unique_ptr<store::MemoryStore> store;
  unsigned terms = 0;   // how often somebody was elected
  unsigned newest = 0;  // the latest term in which somebody acted
  std::size_t actions = 0;
  Violations violations;
};

// Acts as long as the elector says that it may; a process that was frozen asks before it goes on.
Task<void> act_as_leader(Machine& machine, Election& election,
                         const client::LeaderElector& elector) {
  const unsigned term = ++election.terms;
  do {
    if (elector.leads()) {
      ++election.actions;
      if (term < election.newest)
        election.violations.push_back(
            fmt::format("{} acted in term {} when another had acted in {}", machine.name(), term,
                        election.newest));
      election.newest = std::max(election.newest, term);
    }
  } while (co_await runtime::sleep(machine, 50ms));
}

Task<void> stand(Machine& machine, Election& election) {
  const std::unique_ptr<client::RestClient> api = connect(machine, "server");
  client::LeaderElector elector(machine, *api, "default", "leader", machine.name(), election.times);
  std::function<Task<void>()> lead = [&] { return act_as_leader(machine, election, elector); };
  co_await elector.run(std::move(lead));
}

Task<void> serve(Machine& machine, Election& election) {
  co_await serve_api(machine, *election.store, {}, [] {});
}

Result<> elect_through_faults(World& world, client::ElectionTimes times) {
  Election& election = world.own<Election>();
  election.times = times;
  Machine& keeper = world.add_machine("keeper");  // of what the server stores; it never fails
  election.store = std::make_unique<store::MemoryStore>(keeper);
  Random random = world.random_stream("clocks");
  world.add_machine("server").start(
      [&election](Machine& machine) { return serve(machine, election); });
  std::vector<std::string> victims{"server"};
  for (const char* name : {"a", "b", "c"}) {
    victims.emplace_back(name);
    const std::int64_t rate = static_cast<std::int64_t>(random.below(2 * kClockPpm)) - kClockPpm;
    world.add_machine(name, {.clock_rate_ppm = rate}).start([&election](Machine& machine) {
      return stand(machine, election);
    });
  }
  using Kind = Fault::Kind;
  world.own<Nemesis>(
      world, FaultSettings{.machines = victims,
                           .begin = 2s,
                           .end = 180s,
                           .lasting = {.least = 1s, .spread = 30s},
                           .victims_at_most = 2,
                           .kinds = {Kind::cut_both_ways, Kind::isolate, Kind::pause, Kind::kill}});
  world.run_for(180s);
  const std::size_t before = election.actions;
  world.run_for(60s);
  FL_CHECKED(as_result(election.violations));
  if (election.terms < 2) return fail(Code::internal, "there was no change of leaders");
  if (election.actions - before < 400)
    return fail(Code::internal, "hardly anybody leads after the faults");
  return {};
}

// However clocks run and machines fail: no two leaders, and one in the end.
TEST(LeaderElection, NeverHasTwoLeaders) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 20, .cost = 4, .repeat = 5},
                        [](World& world) { return elect_through_faults(world, {}); }));
}

// The scenario would notice: a leader that trusts its lease nearly to the end shares the office.
TEST(LeaderElection, TooLongTrustIsFoundOut) {
  log::set_level(log::Level::error);
  const client::ElectionTimes trusting{.lease = 15s, .renew_deadline = 14'990ms, .retry = 2s};
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 40 && !found; ++seed) {
    const SeedReport report =
        explore_seeds({.count = 1, .first = seed, .fixed_count = true},
                      [&](World& world) { return elect_through_faults(world, trusting); });
    for (const SeedFailure& failure : report.failures)
      found = found || failure.reason.find("when another had acted") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace fairlead::sim
