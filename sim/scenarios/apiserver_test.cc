// The real server in the virtual world: HTTP, API server, watch cache and SQLite store on one
// machine, clients and informers on others, while processes are killed, power fails inside commits,
// machines freeze and cables are cut. Promise 3 (histories) and promise 5 (durability), judged by
// the checkers. The same with two servers on etcd: etcd_apiserver_test.cc.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/store/memory_store.h"
#include "api/store/sqlite/sqlite_store.h"
#include "sim/models/lagging_store.h"
#include "sim/scenarios/api_scenario.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/sqlite_vfs.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

constexpr std::string_view kVfs = "sim-apiserver";

// What the scenario keeps across crashes of the machines.
struct Shared {
  ApiStory story;
  store::Store* store = nullptr;  // of the server that is up; null while it is not
  bool gave_up = false;           // the process ended itself, and waits to be started again
  bool history_read = false;
  Violations lost;
};

struct Tally {
  std::size_t runs = 0;
  std::size_t deletions = 0;
};

struct Unpublish {
  Shared& shared;
  ~Unpublish() { shared.store = nullptr; }
};

Task<void> serve(Machine& machine, Shared& shared) {
  const auto fatal = [&machine, &shared](const std::string&) {
    shared.gave_up = true;
    machine.crash(Crash::kill());
  };
  auto opened = store::SqliteStore::open(
      machine, {.directory = ".", .vfs = std::string(kVfs), .on_fatal = fatal});
  if (!opened) {
    machine.note("store not opened: " + opened.error().message);
    fatal("not opened");
    co_return;
  }
  store::SqliteStore& store = **opened;
  const Unpublish unpublish{shared};
  const auto serving = [&shared, &store] { shared.store = &store; };
  co_await serve_api(machine, store, {.relists = &shared.story.relists}, serving);
}

// The whole truth: every change from the first revision on, from the store itself.
Task<void> read_history(Machine&, Shared& shared) {
  const auto revision = co_await shared.store->revision();
  auto watch = shared.store->watch(std::string(Truth::kPrefix), 0);
  CHECK(revision && watch);
  Truth truth(shared.story.history);
  for (store::Revision seen = 0; seen < *revision;) {
    const Result<store::ChangeBatch> batch = co_await (*watch)->next();
    CHECK(batch.has_value());
    seen = batch->revision;
    for (const store::Change& change : batch->changes) {
      std::optional<std::string_view> stored;
      if (!change.erased) stored = change.current.value.view();
      truth.happened(change.current.key, change.current.modified, stored);
      if (change.current.key.starts_with(Truth::kPrefix))
        shared.story.relists.happened(change.current.modified.number());
    }
  }
  shared.lost = shared.story.durability.check(truth.contents());
  const Violations untrue = truth.check(shared.story.answers);
  shared.lost.insert(shared.lost.end(), untrue.begin(), untrue.end());
  shared.history_read = true;
}

// What systemd does for a server that ended by itself, as it must when a commit fails.
void run_and_start_again(World& world, Machine& server, Shared& shared, Duration how_long) {
  for (Duration passed{0}; passed < how_long; passed += 250ms) {
    world.run_for(250ms);
    if (std::exchange(shared.gave_up, false) && !server.up()) server.restart();
  }
}

Result<> serve_through_faults(World& world, DiskSettings disk, Tally& tally) {
  Machine& server = world.add_machine("server", {.disk = disk});
  Shared& shared = world.own<Shared>();
  ApiStory& story = shared.story;
  world.own<SqliteVfs>(server.disk(), std::string(kVfs));
  server.start([&shared](Machine& machine) { return serve(machine, shared); });

  std::vector<RecordingSink*> sinks;
  std::vector<std::string> victims{"server"};
  for (const char* name : {"writer-a", "writer-b"}) {
    world.add_machine(name).start([&story](Machine& machine) {
      return write_keys(machine, story, {.server = "server", .keys = machine.name()});
    });
    victims.emplace_back(name);
  }
  for (const char* name : {"informer-a", "informer-b"}) {
    auto& sink = world.own<RecordingSink>(story.history.watcher(name), story.relists);
    sinks.push_back(&sink);
    world.add_machine(name).start(
        [&sink](Machine& machine) { return inform(machine, sink, "server"); });
    victims.emplace_back(name);
  }
  using Kind = Fault::Kind;
  world.own<Nemesis>(
      world, FaultSettings{
                 .machines = victims,
                 .begin = 2s,
                 .end = 13s,
                 .kinds = {Kind::cut_one_way, Kind::cut_both_ways, Kind::isolate, Kind::slow,
                           Kind::pause, Kind::kill, Kind::power_loss, Kind::power_loss_in_write}});
  // The disk of the server fills up, fails and loses power in the middle of it, beside all that.
  world.own<Nemesis>(world,
                     plan_faults(world.random_stream("disk"),
                                 FaultSettings{.machines = {"server"},
                                               .begin = 2s,
                                               .end = 13s,
                                               .pause_between = {.least = 500ms, .spread = 2s},
                                               .lasting = {.least = 50ms, .spread = 1s},
                                               .kinds = {Kind::disk_full, Kind::disk_errors,
                                                         Kind::power_loss_in_write}}),
                     13s);
  run_and_start_again(world, server, shared, 15s);
  // Clients may need a keep-alive to notice that the server they talk to is another one.
  world.run_for(30s);
  story.healed = true;
  world.run_for(4s);
  story.writing = false;
  // Reflectors wait up to a minute between tries, and up to a keep-alive to notice a dead server.
  world.run_for(180s);
  if (!shared.store) return fail(Code::unavailable, "the server is not up after the faults ended");
  for (RecordingSink* sink : sinks) sink->rest();
  server.start([&shared](Machine& machine) { return read_history(machine, shared); });
  world.run_for(5s);
  if (!shared.history_read) return fail(Code::timeout, "the history could not be read");
  if (story.durability.acknowledged_count() < 50 || story.acknowledged_when_healed < 30 ||
      story.acknowledged_deletions < 5)
    return fail(
        Code::internal,
        fmt::format("{} writes, {} of them at rest, and {} deletions were acknowledged: the "
                    "scenario tested nothing",
                    story.durability.acknowledged_count(), story.acknowledged_when_healed,
                    story.acknowledged_deletions));
  ++tally.runs;
  tally.deletions += story.acknowledged_deletions;
  FL_CHECKED(as_result(story.failed_without_reason));
  FL_CHECKED(as_result(shared.lost));
  FL_CHECKED(as_result(story.relists.check()));
  return as_result(story.history.check());
}

// Every informer sees a gap-free, ordered history and ends with what the store holds; every
// acknowledged write is there.
TEST(ApiServer, KeepsItsPromisesThroughFaults) {
  Tally tally;
  EXPECT_TRUE(run_seeds({.count = 60, .repeat = 4},
                        [&tally](World& world) { return serve_through_faults(world, {}, tally); }));
  if (tally.runs > 0) std::printf("%zu deletions acknowledged\n", tally.deletions);
}

// The scenario would notice: on a disk that only says it synced, writes and deletions that were
// acknowledged are gone, or the database is no longer one.
TEST(ApiServer, ALyingDiskIsFoundOut) {
  Tally tally;
  const SeedReport report = explore_seeds({.count = 6, .fixed_count = true}, [&](World& world) {
    return serve_through_faults(world, {.honest_sync = false}, tally);
  });
  EXPECT_GE(report.failures.size(), 4U);
}

// ---- resuming

Task<void> serve_shared(Machine& machine, ApiStory& story, store::MemoryStore& shared) {
  LaggingStore store(machine, shared);
  co_await serve_api(machine, store, {.relists = &story.relists}, [] {});
}

Task<void> inform_anywhere(Machine& machine, RecordingSink& sink,
                           std::vector<std::string> servers) {
  const std::unique_ptr<client::RestClient> api = connect_admin(machine, servers);
  client::Reflector reflector(machine, *api, {.resource = {"", "v1", "configmaps", true}}, sink);
  co_await reflector.run();
}

// Two servers that stay up, and connections to them that do not: watchers go from one to the other
// while others write.
Result<> resume_anywhere(World& world, std::size_t& moves) {
  auto& story = world.own<ApiStory>();
  auto& store = world.own<store::MemoryStore>(world.add_machine("store"));
  const std::vector<std::string> servers{"api0", "api1"};
  for (const std::string& name : servers)
    world.add_machine(name).start(
        [&](Machine& machine) { return serve_shared(machine, story, store); });
  world.run_for(1s);  // both know everything from here on
  std::vector<RecordingSink*> sinks;
  for (const char* name : {"informer-a", "informer-b"}) {
    sinks.push_back(&world.own<RecordingSink>(story.history.watcher(name), story.relists));
    world.add_machine(name).start([sink = sinks.back(), servers](Machine& machine) {
      return inform_anywhere(machine, *sink, servers);
    });
  }
  world.add_machine("writer").start([&story](Machine& machine) {
    return write_keys(machine, story, {.server = "api1", .keys = "key"});
  });
  // Each cut is longer than a client takes to notice.
  Random random = world.random_stream("cuts");
  for (Duration at = 5s; at < 120s; at += 60s) {
    const std::string server = servers[random.below(2)];
    for (const char* name : {"informer-a", "informer-b"}) {
      const Duration begin = at + random.between(0s, 3s);
      world.after(begin, [&world, server, name] {
        world.network().cut_both(world.machine(server), world.machine(name));
      });
      world.after(begin + 40s, [&world, server, name] {
        world.network().heal_both(world.machine(server), world.machine(name));
      });
      ++moves;
    }
  }
  world.run_for(130s);
  story.writing = false;
  world.run_for(120s);
  for (const RecordingSink* sink : sinks)
    if (sink->contents().empty()) return fail(Code::internal, "an informer saw nothing");
  if (sinks[0]->contents() != sinks[1]->contents())
    return fail(Code::internal, "the informers do not see the same");
  return as_result(story.relists.check());
}

// A watch is resumed on whichever server answers: nobody lists anew while history reaches back.
TEST(ApiServer, WatchesResumeOnAnyServer) {
  std::size_t moves = 0;
  EXPECT_TRUE(run_seeds({.count = 10, .cost = 6},
                        [&moves](World& world) { return resume_anywhere(world, moves); }));
  EXPECT_GT(moves, 0U);
}

}  // namespace
}  // namespace fairlead::sim
