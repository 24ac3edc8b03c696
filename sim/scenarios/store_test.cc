// The embedded store in the virtual world: writers, watchers and a compactor on a server that is
// killed, paused and loses power inside commits. Promises 3 and 5 at the level of the store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/store/sqlite/sqlite_store.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"
#include "sim/checkers/checkers.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/sqlite_vfs.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using runtime::sleep;
using store::Change;
using store::ChangeBatch;
using store::Place;
using store::SqliteStore;
using store::Store;

// What one watcher knows; kept outside the server, as a remote client would.
struct Follower {
  explicit Follower(HistoryChecker::Watcher& the_log) : log(the_log) {}
  HistoryChecker::Watcher& log;
  std::string prefix;
  HistoryChecker::Contents contents;
  std::optional<store::Revision> seen;  // everything up to there
};

struct Scene {
  HistoryChecker history;
  DurabilityChecker durability;
  AtomicityChecker atomicity;
  std::vector<std::unique_ptr<Follower>> followers;
  store::Revision recorded = 0;  // the true history is known up to there
  unsigned opened = 0;
  unsigned gone = 0;
  std::string broken;  // why the store could not be opened
  std::map<std::string, DurabilityChecker::Stored> final_contents;
  bool finished = false;
};

HistoryEvent event_of(const Change& change) {
  HistoryEvent event{.version = change.current.modified.number(),
                     .key = change.current.key,
                     .value = std::nullopt};
  if (!change.erased) event.value = std::string(change.current.value.view());
  return event;
}

// Reads the true history on, up to a revision.
Task<Result<>> record_history(Store& store, Scene& scene, store::Revision upto) {
  if (scene.recorded >= upto) co_return Result<>{};
  FL_CO_TRY(std::unique_ptr<store::Watch> watch, store.watch("", scene.recorded));
  while (scene.recorded < upto) {
    FL_CO_TRY(const ChangeBatch batch, co_await watch->next());
    for (const Change& change : batch.changes) {
      scene.history.happened(event_of(change));
      // Values begin with the number of their transaction; erasures go alone.
      if (!change.erased)
        scene.atomicity.happened(std::stoull(std::string(change.current.value.view())),
                                 change.current.modified.revision);
    }
    scene.recorded = batch.revision;
  }
  co_return Result<>{};
}

Task<Result<>> list_anew(Store& store, Follower& follower) {
  FL_CO_TRY(const store::Listing listing, co_await store.list(follower.prefix, {}));
  follower.contents.clear();
  for (const store::KeyValue& item : listing.items)
    follower.contents[item.key] = std::string(item.value.view());
  follower.seen = listing.revision;
  follower.log.listed(Place::end_of(listing.revision).number(), follower.contents);
  co_return Result<>{};
}

Task<Result<>> follow_once(Store& store, Follower& follower) {
  if (!follower.seen) {
    FL_CO_CHECKED(co_await list_anew(store, follower));
  }
  FL_CO_TRY(std::unique_ptr<store::Watch> watch, store.watch(follower.prefix, *follower.seen));
  follower.log.watching(Place::end_of(*follower.seen).number());
  for (;;) {
    FL_CO_TRY(const ChangeBatch batch, co_await watch->next());
    for (const Change& change : batch.changes) {
      const HistoryEvent event = event_of(change);
      follower.log.saw(event);
      if (event.value) {
        follower.contents[event.key] = *event.value;
      } else {
        follower.contents.erase(event.key);
      }
    }
    follower.seen = batch.revision;
    follower.log.bookmark(Place::end_of(batch.revision).number());
  }
}

Task<void> follow(Machine& machine, Store& store, Scene& scene, Follower& follower) {
  for (;;) {
    const Result<> ended = co_await follow_once(store, follower);
    if (!ended && ended.error().code == Code::gone) {
      ++scene.gone;
      follower.log.gone();
      follower.seen.reset();
    }
    // Falls behind now and then, so that history can be compacted away under it.
    const Duration rest = machine.random() % 4 == 0 ? Duration(3s) : Duration(50ms);
    if (!co_await sleep(machine, rest)) co_return;
  }
}

// Puts one to three of its own keys, or erases one it has put, and notes the answer.
Task<void> write(Machine& machine, Store& store, Scene& scene, int writer) {
  DurabilityChecker& durability = scene.durability;
  for (;;) {
    store::Transaction transaction;
    std::vector<DurabilityChecker::OperationId> operations;
    const std::uint64_t chance = machine.random();
    const std::size_t count = 1 + chance % 3;
    const AtomicityChecker::TransactionId id = scene.atomicity.attempt(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string key = fmt::format("{}/{}", writer, (chance >> 8) % 6 + i);
      const bool erase = count == 1 && (chance >> 32) % 4 == 0;
      const std::string value =
          fmt::format("{}-{}-{}", id, machine.random(), std::string(chance % 700, 'v'));
      if (erase) transaction.compares.push_back({.key = key, .modified = store::Compare::kExists});
      transaction.operations.push_back(
          {.kind = erase ? store::Operation::Kind::erase : store::Operation::Kind::put,
           .key = key,
           .value = erase ? Bytes() : Bytes(value)});
      operations.push_back(durability.attempt(key, erase ? std::nullopt : std::optional(value)));
    }
    const Result<store::Committed> done = co_await store.commit(std::move(transaction));
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (done) {
        const Place place{done->revision, static_cast<std::uint32_t>(i)};
        durability.acknowledged(operations[i], place.number());
      } else if (done.error().code == Code::conflict) {
        durability.refused(operations[i]);
      }
    }
    const Duration rest(machine.random() % 60'000'000);
    if (!co_await sleep(machine, rest)) co_return;
  }
}

Task<void> compact_now_and_then(Machine& machine, Store& store, Scene& scene) {
  for (;;) {
    if (!co_await sleep(machine, 2s)) co_return;
    const Result<store::Revision> now = co_await store.revision();
    if (!now) continue;
    const Result<> recorded = co_await record_history(store, scene, *now);
    if (recorded) co_await store.compact(*now - std::min<store::Revision>(*now, 5));
  }
}

Result<std::unique_ptr<SqliteStore>> open_store(Machine& machine) {
  store::SqliteOptions options;
  options.directory = "store";
  options.vfs = "sim-store";
  options.log_changes = 50;
  options.checkpoint_pages = 20;
  options.on_fatal = [&machine](const std::string&) { machine.crash(Crash::kill()); };
  return SqliteStore::open(machine, std::move(options));
}

Task<void> serve(Machine& machine, Scene& scene) {
  Result<std::unique_ptr<SqliteStore>> store = open_store(machine);
  if (!store) {
    // A power failure, or a bad or full disk, inside opening is no fault of the store's.
    if (store.error().code != Code::io && store.error().code != Code::exhausted)
      scene.broken = store.error().to_string();
    co_return;
  }
  ++scene.opened;
  runtime::Scope scope(machine);
  for (int writer = 0; writer < 3; ++writer) scope.spawn(write(machine, **store, scene, writer));
  for (const auto& follower : scene.followers)
    scope.spawn(follow(machine, **store, scene, *follower));
  scope.spawn(compact_now_and_then(machine, **store, scene));
  co_await scope.join();
}

Task<Result<>> finish(Machine& machine, Scene& scene) {
  FL_CO_TRY(const std::unique_ptr<SqliteStore> store, open_store(machine));
  FL_CO_TRY(const store::Revision now, co_await store->revision());
  FL_CO_CHECKED(co_await record_history(*store, scene, now));
  FL_CO_TRY(const store::Listing listing, co_await store->list("", {}));
  for (const store::KeyValue& item : listing.items)
    scene.final_contents[item.key] = {item.modified.number(), std::string(item.value.view())};
  // Each follower catches up and rests.
  for (const auto& follower : scene.followers) {
    const Result<> caught_up =
        co_await runtime::with_timeout(machine, 1s, follow_once(*store, *follower));
    if (!caught_up && caught_up.error().code == Code::gone) {
      follower->log.gone();
      FL_CO_CHECKED(co_await list_anew(*store, *follower));
    }
    follower->log.at_rest(follower->contents);
  }
  scene.finished = true;
  co_return Result<>{};
}

Task<void> finish_or_tell(Machine& machine, Scene& scene) {
  const Result<> done = co_await finish(machine, scene);
  if (!done) scene.broken = done.error().to_string();
}

Result<> store_under_faults(World& world, DiskSettings disk) {
  Scene& scene = world.own<Scene>();
  for (const char* prefix : {"", "0/", "1/"}) {
    const std::string chosen = prefix;
    HistoryChecker::Watcher& log =
        scene.history.watcher("of \"" + chosen + "\"",
                              [chosen](const std::string& key) { return key.starts_with(chosen); });
    scene.followers.push_back(std::make_unique<Follower>(log));
    scene.followers.back()->prefix = chosen;
  }
  Machine& server = world.add_machine("server", {.disk = disk});
  FL_CHECKED(server.files().make_directories("store", 0700));
  world.own<SqliteVfs>(server.disk(), "sim-store");
  server.start([&scene](Machine& machine) { return serve(machine, scene); });
  FaultSettings faults;
  faults.machines = {"server"};
  faults.begin = 1s;
  faults.end = 20s;
  faults.pause_between = {.least = 100ms, .spread = 2s};
  faults.lasting = {.least = 20ms, .spread = 500ms};
  faults.kinds = {Fault::Kind::kill,
                  Fault::Kind::power_loss,
                  Fault::Kind::power_loss_in_write,
                  Fault::Kind::power_loss_in_write,
                  Fault::Kind::pause,
                  Fault::Kind::disk_full,
                  Fault::Kind::disk_errors};
  world.own<Nemesis>(world, faults);
  world.run_for(22s);
  server.crash(Crash::power());
  server.restart([&scene](Machine& machine) { return finish_or_tell(machine, scene); });
  world.run_for(10s);
  if (!scene.broken.empty()) return fail(Code::internal, scene.broken);
  if (!scene.finished) return fail(Code::internal, "did not come to rest");
  if (scene.opened < 3 || scene.durability.acknowledged_count() < 100 ||
      scene.atomicity.whole_count() < 20)
    return fail(Code::internal, "hardly anything happened");
  FL_CHECKED(as_result(scene.durability.check(scene.final_contents)));
  FL_CHECKED(as_result(scene.atomicity.check()));
  return as_result(scene.history.check());
}

// Nothing acknowledged is lost, no watcher misses or repeats a change, and everyone ends up with
// what the store holds.
TEST(StoreInTheWorld, SqliteStoreKeepsPromises) {
  EXPECT_TRUE(run_seeds({.count = 20, .cost = 5, .repeat = 5},
                        [](World& world) { return store_under_faults(world, {}); }));
}

// The scenario would notice: on a disk that only says it synced, every promise falls.
TEST(StoreInTheWorld, LyingDiskIsFoundOut) {
  const SeedReport report = explore_seeds({.count = 5, .fixed_count = true}, [](World& world) {
    return store_under_faults(world, {.honest_sync = false});
  });
  EXPECT_EQ(report.failures.size(), 5u);
}

}  // namespace
}  // namespace fairlead::sim
