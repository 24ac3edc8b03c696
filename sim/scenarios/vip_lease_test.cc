// Virtual IPs that are elected in etcd and in a Kubernetes API, in the virtual world: the product's
// own engines and adapters, on machines that are paused, killed, cut off, robbed of power and given
// wrong clocks, around a store whose members and servers suffer the same. Requests arrive late, and
// answers are lost after the write was made. No two machines ever answer for one VIP, and when
// everything is healed every VIP has a holder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/store/memory_store.h"
#include "features/vip/engine/engine.h"
#include "features/vip/lease/census.h"
#include "features/vip/lease/etcd_leases.h"
#include "features/vip/lease/kubernetes_leases.h"
#include "features/vip/lease/store_electorate.h"
#include "foundation/base/log.h"
#include "sim/models/etcd_members.h"
#include "sim/scenarios/api_scenario.h"
#include "sim/scenarios/vip_site.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

constexpr vip::Timing kTiming{.lease = 1s, .renew = 250ms};
const std::vector<std::string> kNames{"a", "b", "c"};

// What happened at the store; a run in which nothing did shows nothing.
struct Tally {
  std::size_t puts = 0, conflicts = 0, unknown = 0, bars = 0, tables = 0, moves = 0;
};

// Counts, and on request forgets to compare: a test of the test.
class TalliedStore final : public vip::LeaseStore {
 public:
  TalliedStore(std::string node, std::unique_ptr<vip::LeaseStore> store, Tally& tally,
               bool compares)
      : node_(std::move(node)), store_(std::move(store)), tally_(tally), compares_(compares) {}

  Task<Result<std::vector<vip::StoredRecord>>> list() override { return store_->list(); }
  Task<Result<std::string>> put(vip::RecordPut put) override {
    if (!compares_ && put.holder == node_ && put.name != vip::kTableName) {
      FL_CO_TRY(const std::vector<vip::StoredRecord> now, co_await store_->list());
      for (const vip::StoredRecord& one : now)
        if (one.name == put.name) put.version = one.version;
    }
    const bool bars = put.holder != node_, table = put.name == vip::kTableName;
    // Counted before it ends: who is cancelled or killed does not come back.
    ++tally_.puts;
    ++tally_.unknown;
    Result<std::string> version = co_await store_->put(std::move(put));
    if (version || version.error().code == Code::conflict) --tally_.unknown;
    if (!version && version.error().code == Code::conflict) ++tally_.conflicts;
    if (version && bars) ++tally_.bars;
    if (version && table) ++tally_.tables;
    co_return version;
  }

 private:
  std::string node_;
  std::unique_ptr<vip::LeaseStore> store_;
  Tally& tally_;
  bool compares_;
};

using Connect = std::function<std::unique_ptr<vip::LeaseStore>(Machine&)>;

// `compares`: false plants a bug.
VipSite& build_site(World& world, Tally& tally, Connect connect, bool compares = true) {
  const auto open = [&tally, connect = std::move(connect), compares](
                        Machine& machine,
                        SimFence& kernel) -> Result<std::unique_ptr<vip::Engine>> {
    auto store = std::make_unique<TalliedStore>(machine.name(), connect(machine), tally, compares);
    FL_TRY(auto electorate, vip::StoreElectorate::open(
                                machine, std::move(store),
                                {.node = machine.name(), .state = "/instance", .timing = kTiming}));
    return std::make_unique<vip::Engine>(
        vip::Engine::Parts{.runtime = machine, .fence = kernel, .interfaces = kernel},
        std::move(electorate));
  };
  return world.own<VipSite>(world, kTiming.margin, open);
}

// `victims` are the machines of the store.
Result<> hold_through_faults(World& world, VipSite& site, Tally& tally,
                             std::vector<std::string> victims) {
  Random random = world.random_stream("site");
  for (const std::string& name : kNames) site.add(name, random);
  site.start_all();
  victims.insert(victims.end(), kNames.begin(), kNames.end());
  using Kind = Fault::Kind;
  world.own<Nemesis>(world, FaultSettings{.machines = victims,
                                          .begin = 4s,
                                          .end = 40s,
                                          .pause_between = {.least = 100ms, .spread = 2s},
                                          .lasting = {.least = 50ms, .spread = 3s},
                                          .victims_at_most = 2,
                                          .kinds = {Kind::cut_one_way, Kind::cut_both_ways,
                                                    Kind::isolate, Kind::slow, Kind::lossy,
                                                    Kind::pause, Kind::kill, Kind::power_loss}});
  for (int i = 0; i < 7; ++i) {
    const Duration at = 4s + Duration(static_cast<std::int64_t>(random.below(35'000'000'000)));
    const Duration later(static_cast<std::int64_t>(random.below(500'000'000)));
    const std::string first = kNames[random.below(3)];
    constexpr std::array kAll{Strike::kill_engine, Strike::kill_guard, Strike::stop_agent};
    const Strike strike = kAll[random.below(kAll.size())];
    world.after(at, [&site] { site.stop_holder(2s); });
    world.after(at + later, [&site, first, strike] { site.strike(first, strike); });
  }
  world.run_for(52s);
  tally.moves += site.judge().opened_first;
  return site.at_rest();
}

Result<> hold_with_etcd(World& world, Tally& tally, bool compares = true) {
  EtcdMembers& etcd =
      world.own<EtcdMembers>(world, EtcdMembersSettings{.lost_answers_per_million = 20'000});
  const auto connect = [&etcd](Machine& machine) {
    return std::make_unique<vip::EtcdLeases>(
        machine, vip::EtcdLeasesOptions{.endpoints = etcd.endpoints(machine.random() % 3),
                                        .tls = nullptr,
                                        .renew = kTiming.renew});
  };
  VipSite& site = build_site(world, tally, connect, compares);
  const std::vector<std::string> members = etcd.start(world, 3);
  etcd.trouble_the_leader(world, 5s, 38s);
  return hold_through_faults(world, site, tally, members);
}

struct Servers {
  std::unique_ptr<store::MemoryStore> store;
};

Result<> hold_with_kubernetes(World& world, Tally& tally) {
  Machine& keeper = world.add_machine("keeper");  // of what the server stores; it never fails
  Servers& servers = world.own<Servers>();
  servers.store = std::make_unique<store::MemoryStore>(keeper);
  world.add_machine("server").start(
      [&servers](Machine& machine) { return serve_api(machine, *servers.store, {}, [] {}); });
  VipSite& site = build_site(world, tally, [](Machine& machine) {
    return std::make_unique<vip::KubernetesLeases>(machine, connect(machine, "server"), "default");
  });
  return hold_through_faults(world, site, tally, {"server"});
}

void expect_that_much_happened(const Tally& tally, std::size_t seeds) {
  fmt::print(
      "{} runs: {} moves, {} writes, {} conflicts, {} of unknown fate, {} nodes barred, {} "
      "tables\n",
      seeds, tally.moves, tally.puts, tally.conflicts, tally.unknown, tally.bars, tally.tables);
  if (seeds < 10) return;  // somebody looks at a few seeds
  EXPECT_GT(tally.moves, 3 * seeds);
  EXPECT_GT(tally.bars, seeds);
  EXPECT_GT(tally.conflicts, seeds / 2);
  EXPECT_GT(tally.unknown, seeds);
  EXPECT_GT(tally.tables, 5 * seeds);
}

TEST(VirtualIpsInAStore, NeverTwoHoldersWithEtcd) {
  log::set_level(log::Level::error);
  Tally tally;
  std::size_t seeds = 0;
  EXPECT_TRUE(run_seeds({.count = 60, .repeat = 10}, [&](World& world) {
    ++seeds;
    return hold_with_etcd(world, tally);
  }));
  expect_that_much_happened(tally, seeds);
  log::set_level(log::Level::info);
}

TEST(VirtualIpsInAStore, NeverTwoHoldersWithKubernetes) {
  log::set_level(log::Level::error);
  Tally tally;
  std::size_t seeds = 0;
  EXPECT_TRUE(run_seeds({.count = 40, .repeat = 10}, [&](World& world) {
    ++seeds;
    return hold_with_kubernetes(world, tally);
  }));
  expect_that_much_happened(tally, seeds);
  log::set_level(log::Level::info);
}

// The scenario would notice: a node that renews its record whatever became of it shares the VIP.
TEST(VirtualIpsInAStore, RenewalsWithoutACompareAreFoundOut) {
  log::set_level(log::Level::error);
  Tally tally;
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 40 && !found; ++seed) {
    const SeedReport report =
        explore_seeds({.count = 1, .first = seed, .fixed_count = true},
                      [&](World& world) { return hold_with_etcd(world, tally, false); });
    for (const SeedFailure& failure : report.failures)
      found = found || failure.reason.find(" while ") != std::string::npos;
  }
  EXPECT_TRUE(found);
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace fairlead::sim
