// EtcdStore in the virtual world: two servers on a cluster of three members,
// under every fault that a client can see, over many seeds. And the model
// itself, where its words matter.
#include "sim/models/etcd_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/store/etcd/etcd_store.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "sim/checkers/checkers.h"
#include "sim/models/etcd_members.h"
#include "sim/models/etcd_truth.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"

namespace fairlead::sim {
namespace {

using store::EtcdOptions;
using store::EtcdStore;
namespace etcd = wire::etcd;

constexpr int kMembers = 3;
constexpr int kServers = 2;
constexpr int kWriters = 3;
constexpr int kKeys = 20;

std::string text_of(const Bytes& bytes) { return std::string(bytes.view()); }

// What became of one operation, as its writer was told; checked against everything that happened,
// as later writes may have covered it up in the end.
struct Told {
  std::string key;
  std::optional<std::string> value;  // empty: erased
  store::Place place{};              // zero: surely not made
};

// Everything that the programs tell the judges.
struct Story {
  explicit Story(World& world) : etcd(world) {}
  EtcdMembers etcd;
  DurabilityChecker durability;
  HistoryChecker history;
  std::vector<Told> told;
  bool quiet = false;
  int written = 0;
  std::array<store::Revision, kServers> reached{};
};

HistoryEvent event_of(const store::Change& change) {
  HistoryEvent event{.version = change.current.modified.number(), .key = change.current.key};
  if (!change.erased) event.value = text_of(change.current.value);
  return event;
}

// A change of up to three keys as they are now; nothing if they cannot be read.
Task<std::optional<store::Transaction>> plan_change(Machine& machine, EtcdStore& store,
                                                    std::string value) {
  std::set<std::string> keys;
  for (std::uint64_t i = 0, n = 1 + machine.random() % 3; i < n; ++i)
    keys.insert("k" + std::to_string(machine.random() % kKeys));
  store::Transaction transaction;
  for (const std::string& key : keys) {
    const auto found = co_await store.get(key);
    if (!found) co_return std::nullopt;
    const store::Revision at = *found ? (*found)->modified.revision : 0;
    transaction.compares.push_back({.key = key, .modified = at});
    const bool erase = at != 0 && machine.random() % 4 == 0;
    transaction.operations.push_back(
        {.kind = erase ? store::Operation::Kind::erase : store::Operation::Kind::put,
         .key = key,
         .value = erase ? Bytes() : Bytes(value)});
  }
  co_return transaction;
}

Task<void> change(EtcdStore& store, Story& story, store::Transaction transaction) {
  std::vector<Told> told;
  std::vector<DurabilityChecker::OperationId> ids;
  for (const store::Operation& operation : transaction.operations) {
    Told one{.key = operation.key, .value = text_of(operation.value)};
    if (operation.kind == store::Operation::Kind::erase) one.value.reset();
    ids.push_back(story.durability.attempt(one.key, one.value));
    told.push_back(std::move(one));
  }
  const auto committed = co_await store.commit(std::move(transaction));
  if (!committed && committed.error().code == Code::timeout) co_return;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (committed) {
      told[i].place = {committed->revision, committed->position + static_cast<std::uint32_t>(i)};
      story.durability.acknowledged(ids[i], told[i].place.number());
    } else {
      story.durability.refused(ids[i]);
    }
    story.told.push_back(std::move(told[i]));
  }
  if (committed) ++story.written;
}

// Creates, changes and erases a few keys that everybody fights over, several in one transaction and
// several transactions at once.
Task<void> write_on(Machine& machine, EtcdStore& store, Story& story, std::string name) {
  for (int round = 0; !story.quiet; ++round) {
    std::vector<store::Transaction> planned;
    for (std::uint64_t i = 0, n = 1 + machine.random() % 3; i < n; ++i) {
      std::string value = name + "-" + std::to_string(round) + "." + std::to_string(i);
      auto transaction = co_await plan_change(machine, store, std::move(value));
      if (transaction) planned.push_back(std::move(*transaction));
    }
    runtime::Scope together(machine);
    for (store::Transaction& one : planned) together.spawn(change(store, story, std::move(one)));
    co_await together.join();
    (void)co_await runtime::sleep(machine, Duration(1ms) * (machine.random() % 250));
  }
}

// A cache as the server keeps one: list, watch, start over when gone.
Task<void> watch_on(Machine& machine, EtcdStore& store, Story& story, int server,
                    HistoryChecker::Watcher& told) {
  for (;;) {
    const auto listing = co_await store.list("", {});
    if (!listing) {
      if (!co_await runtime::sleep(machine, 100ms)) co_return;
      continue;
    }
    HistoryChecker::Contents contents;
    for (const store::KeyValue& item : listing->items) contents[item.key] = text_of(item.value);
    const auto watch = std::move(*store.watch("", listing->revision));
    const std::uint64_t after = store::Place::end_of(listing->revision).number();
    told.listed(after, std::move(contents));
    told.watching(after);
    for (;;) {
      const auto batch = co_await watch->next();
      if (!batch) {
        if (batch.error().code == Code::cancelled) co_return;
        CHECK(batch.error().code == Code::gone);
        told.gone();
        break;
      }
      for (const store::Change& change : batch->changes) told.saw(event_of(change));
      told.bookmark(store::Place::end_of(batch->revision).number());
      story.reached[server] = batch->revision;
    }
  }
}

// Consistent reads ask for the revision; that is also what finds a stuck watch.
Task<void> ask_on(Machine& machine, EtcdStore& store) {
  for (;;) {
    (void)co_await store.revision();
    if (!co_await runtime::sleep(machine, 500ms)) co_return;
  }
}

Task<void> compact_on(Machine& machine, EtcdStore& store) {
  for (store::CompactionTurn turn;;) {
    if (!co_await runtime::sleep(machine, 5s)) co_return;
    if (const auto next = co_await store.compact_in_turn(turn)) turn = *next;
  }
}

Task<void> serve_on(Machine& machine, Story& story, int server, HistoryChecker::Watcher& told) {
  EtcdOptions options;
  options.endpoints = story.etcd.endpoints(static_cast<std::size_t>(server));
  options.log_changes = 64;
  EtcdStore store(machine, std::move(options));
  runtime::Scope scope(machine);
  for (int i = 0; i < kWriters; ++i)
    scope.spawn(write_on(machine, store, story, machine.name() + "w" + std::to_string(i)));
  scope.spawn(watch_on(machine, store, story, server, told));
  scope.spawn(ask_on(machine, store));
  scope.spawn(compact_on(machine, store));
  co_await scope.join();
}

// Every operation that was acknowledged happened just there and so, and none that was refused did.
// Of an erasure the revision is told exactly; its position may have moved down (EtcdAssembler).
// (Values are told apart by their writers; erasures are not, so a refused one proves nothing.)
Violations check_told(const Story& story, const std::vector<HistoryEvent>& happened) {
  std::map<std::uint64_t, const HistoryEvent*> by_version;
  std::set<std::pair<std::string, std::string>> values;
  std::set<std::pair<store::Revision, std::string>> erasures;
  for (const HistoryEvent& event : happened) {
    by_version[event.version] = &event;
    if (event.value) {
      values.emplace(event.key, *event.value);
    } else {
      erasures.emplace(store::Place::from_number(event.version).revision, event.key);
    }
  }
  Violations violations;
  for (const Told& told : story.told) {
    if (told.place.revision != 0 && !told.value) {
      if (!erasures.contains({told.place.revision, told.key}))
        violations.push_back("acknowledged and not erased: " + told.key);
    } else if (told.place.revision != 0) {
      const auto found = by_version.find(told.place.number());
      const bool there = found != by_version.end() && found->second->key == told.key &&
                         found->second->value == told.value;
      if (!there) violations.push_back("acknowledged and not made: " + told.key);
    } else if (told.value && values.contains({told.key, *told.value})) {
      violations.push_back("refused and made: " + told.key + " = " + *told.value);
    }
  }
  return violations;
}

std::map<std::string, DurabilityChecker::Stored> contents_of(const Story& story,
                                                             std::vector<HistoryEvent>& history) {
  std::map<std::string, DurabilityChecker::Stored> contents;
  for (StoredChange& change : stored_changes(story.etcd.model())) {
    HistoryEvent happened{.version = change.place.number(), .key = std::move(change.key)};
    if (change.value) {
      happened.value = std::move(change.value);
      contents[happened.key] = {.version = happened.version, .value = *happened.value};
    } else {
      contents.erase(happened.key);
    }
    history.push_back(std::move(happened));
  }
  return contents;
}

// Revisions that carry values of several transactions.
int shared_revisions(const std::vector<HistoryEvent>& happened) {
  std::map<store::Revision, std::set<std::string>> values;
  for (const HistoryEvent& event : happened)
    if (event.value) values[store::Place::from_number(event.version).revision].insert(*event.value);
  return static_cast<int>(
      std::ranges::count_if(values, [](const auto& one) { return one.second.size() > 1; }));
}

Result<> two_servers(World& world) {
  Story& story = world.own<Story>(world);
  FaultSettings faults;
  faults.machines = story.etcd.start(world, kMembers);
  for (int i = 0; i < kServers; ++i) {
    Machine& machine = world.add_machine("server" + std::to_string(i));
    HistoryChecker::Watcher& told = story.history.watcher(machine.name());
    machine.start([&story, &told, i](Machine& on) { return serve_on(on, story, i, told); });
  }
  using Kind = Fault::Kind;
  faults.kinds = {Kind::cut_one_way, Kind::cut_both_ways, Kind::isolate, Kind::slow,
                  Kind::lossy,       Kind::pause,         Kind::kill,    Kind::power_loss};
  faults.begin = 2s;
  faults.end = 25s;
  faults.pause_between = {.least = 200ms, .spread = 2s};
  world.own<Nemesis>(world, faults);
  story.etcd.trouble_the_leader(world, 2s, 20s);
  world.run_for(30s);
  story.quiet = true;
  world.run_for(10s);
  const std::int64_t last = story.etcd.model().revision();
  const bool settled = world.run_until(
      [&] { return std::ranges::all_of(story.reached, [&](auto at) { return at >= last; }); }, 60s);
  if (!settled) return fail(Code::timeout, "a watch never reached the last revision");
  if (story.written < 50) return fail(Code::internal, "hardly anything was written");
  std::vector<HistoryEvent> happened;
  const auto contents = contents_of(story, happened);
  if (shared_revisions(happened) == 0) return fail(Code::internal, "no transactions went together");
  for (const HistoryEvent& event : happened) story.history.happened(event);
  Violations violations = story.durability.check(contents);
  for (const Violations& more : {story.history.check(), check_told(story, happened)})
    violations.insert(violations.end(), more.begin(), more.end());
  return as_result(violations);
}

// Promises 3 and 5 of a store on etcd: whatever the network, the members and
// the leader do, nothing acknowledged is lost, nothing refused is made, and
// every watch tells a whole and ordered history or says that it is gone.
TEST(EtcdStoreInSimulation, KeepsItsPromises) {
  log::set_level(log::Level::error);
  EXPECT_TRUE(run_seeds({.count = 12, .cost = 10, .repeat = 5}, two_servers));
}

std::string txn(const etcd::TxnRequest& request) {
  std::string bytes;
  etcd::encode(bytes, request);
  return bytes;
}

// What etcd refuses, the model refuses, in the words that the store's error
// mapping goes by.
TEST(EtcdModel, RefusesWhatEtcdRefuses) {
  EtcdModel model;
  etcd::TxnRequest twice;
  twice.success = {etcd::PutRequest{"k", "1"}, etcd::PutRequest{"k", "2"}};
  EXPECT_EQ(model.txn(txn(twice)).error().message,
            "etcdserver: duplicate key given in txn request");
  etcd::TxnRequest many;
  const std::vector<std::string> keys = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 129; ++i) made.push_back("k" + std::to_string(i));
    return made;
  }();
  for (const std::string& key : keys) many.success.emplace_back(etcd::PutRequest{key, "v"});
  EXPECT_EQ(model.txn(txn(many)).error().message, "etcdserver: too many operations in txn request");
  etcd::TxnRequest large;
  const std::string value(EtcdModel::kMaxRequestBytes, 'x');
  large.success = {etcd::PutRequest{"k", value}};
  EXPECT_EQ(model.txn(txn(large)).error().message, "etcdserver: request is too large");
  std::string future;
  etcd::encode(future, etcd::RangeRequest{.key = "k", .revision = 9});
  EXPECT_EQ(model.range(future).error().code, wire::GrpcCode::out_of_range);
  EXPECT_EQ(model.revision(), 1);
}

// Transactions in a group share a revision, and look at what was there before any of them.
TEST(EtcdModel, GroupsAreCarriedOutTogether) {
  EtcdModel model;
  const auto create = [](std::string_view key) {
    etcd::TxnRequest request;
    request.compares = {{.key = key, .operand = 0}};
    request.success = {etcd::PutRequest{key, "v"}};
    return request;
  };
  const auto send = [&](std::vector<etcd::TxnRequest> transactions) {
    std::string bytes;
    etcd::encode(bytes, etcd::TxnGroupRequest{std::move(transactions)});
    return model.txn(bytes);
  };
  const std::string first = send({create("a"), create("b")}).value();
  EXPECT_EQ(model.revision(), 2);
  EXPECT_TRUE(etcd::decode_txn_group_response(first)->transactions.at(1).succeeded);
  const std::string second = send({create("a"), create("c")}).value();
  EXPECT_FALSE(etcd::decode_txn_group_response(second)->transactions.at(0).succeeded);
  EXPECT_TRUE(etcd::decode_txn_group_response(second)->transactions.at(1).succeeded);
  EXPECT_EQ(model.revision(), 3);
  EXPECT_EQ(send({create("d"), create("d")}).error().message,
            "etcdserver: duplicate key given in txn request");
}

// Revisions, versions and reads in the past are etcd's.
TEST(EtcdModel, KeepsHistory) {
  EtcdModel model;
  etcd::TxnRequest put;
  put.success = {etcd::PutRequest{"a", "1"}, etcd::PutRequest{"b", "1"}};
  ASSERT_TRUE(model.txn(txn(put)));
  EXPECT_EQ(model.revision(), 2);
  etcd::TxnRequest erase;
  erase.compares = {{.result = etcd::Compare::Result::greater, .key = "a", .operand = 0}};
  erase.success = {etcd::DeleteRangeRequest{"a", ""}, etcd::PutRequest{"b", "2"}};
  ASSERT_TRUE(model.txn(txn(erase)));
  const std::string answer = *model.txn(txn(erase));
  EXPECT_FALSE(etcd::decode_txn_response(answer)->succeeded);
  EXPECT_EQ(model.revision(), 3);

  std::string past;
  etcd::encode(past, etcd::RangeRequest{.key = "a", .range_end = "c", .revision = 2});
  const std::string found = *model.range(past);
  EXPECT_EQ(etcd::decode_range_response(found)->kvs.size(), 2U);
  std::string compaction;
  etcd::encode(compaction, etcd::CompactRequest{.revision = 3, .physical = false});
  ASSERT_TRUE(model.compact(compaction));
  EXPECT_EQ(model.range(past).error().code, wire::GrpcCode::out_of_range);
  EXPECT_EQ(model.compact(compaction).error().code, wire::GrpcCode::out_of_range);
}

}  // namespace
}  // namespace fairlead::sim
