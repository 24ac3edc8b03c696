// Subnets, attachments and addresses with two servers on one store, each behind by chance and
// killed now and then, while users create and delete in every order and nodes answer late.
// Promise 1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/apimachinery/request/write_options.h"
#include "api/apiserver/admission.h"
#include "api/apiserver/object_writer.h"
#include "api/apiserver/write_plan.h"
#include "api/controllers/garbage_collector.h"
#include "api/store/memory_store.h"
#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/test_catalog.h"
#include "sim/checkers/network_checker.h"
#include "sim/models/lagging_store.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using apiserver::Answer;
using apiserver::Change;
using apiserver::WriteItem;

const resource::Catalog& catalog() { return networks::test_catalog(); }
const resource::Kind& kind_named(const char* group, const char* version, const char* plural) {
  return *catalog().find(group, version, plural);
}
const resource::Kind& subnets() { return kind_named("fairlead.dev", "v1alpha1", "subnets"); }
const resource::Kind& attachments() {
  return kind_named("fairlead.dev", "v1alpha1", "networkattachments");
}
const resource::Kind& reports() { return kind_named("fairlead.dev", "v1alpha1", "nodereports"); }

// One server: what stands between the store and its users, without HTTP.
struct Server {
  Server(runtime::Runtime& runtime, store::Store& shared)
      : store(runtime, shared),
        cache(runtime, store, catalog()),
        writer(store, cache),
        events(runtime, catalog(), writer, metrics),
        networks({runtime, catalog(), cache, writer, events, metrics}),
        garbage(runtime, catalog(), cache, writer),
        scope(runtime) {}

  LaggingStore store;
  metrics::Registry metrics;
  watchcache::WatchCache cache;
  apiserver::ObjectWriter writer;
  controllers::ServerEvents events;
  ipam::VirtualNetworks networks;
  controllers::GarbageCollector garbage;
  runtime::Scope scope;
};

struct Shared {
  std::unique_ptr<store::MemoryStore> store;
  std::vector<std::shared_ptr<Server>> servers{nullptr, nullptr};
  NetworkChecker checker;
  bool busy = true;
};

Task<void> follow(watchcache::WatchCache& cache) { (void)co_await cache.run(); }

// A server that is killed and started again while the world is busy.
Task<void> keep_serving(Machine& machine, Shared& shared, std::size_t which) {
  for (;;) {
    auto server = std::make_shared<Server>(machine, *shared.store);
    server->scope.spawn(follow(server->cache));
    if (!co_await server->cache.wait_ready()) co_return;
    server->scope.spawn(server->networks.run());
    server->scope.spawn(server->garbage.run());
    shared.servers[which] = server;
    do {
      const Duration lives(500'000'000 + machine.random() % 1'500'000'000);
      if (!co_await runtime::sleep(machine, lives)) co_return;
    } while (!shared.busy);
    shared.servers[which] = nullptr;
    co_await server->scope.close();
    server.reset();
    if (!co_await runtime::sleep(machine, Duration(machine.random() % 1'000'000'000))) co_return;
  }
}

Task<void> check_everything(Machine&, Shared& shared) {
  auto watch = shared.store->watch("", 0);
  CHECK(watch.has_value());
  for (;;) {
    const Result<store::ChangeBatch> batch = co_await (*watch)->next();
    if (!batch) co_return;
    shared.checker.take_in(*batch);
  }
}

// A write as a user makes it, on one of the servers that are up.
struct User {
  Machine& machine;
  Shared& shared;

  apiserver::WriteContext context(const resource::Kind& kind, std::string ns, std::string name,
                                  std::string subresource = "") {
    return {.kind = &kind,
            .namespace_name = std::move(ns),
            .name = std::move(name),
            .subresource = std::move(subresource),
            .options = {.field_manager = "user"},
            .now = machine.wall_now(),
            .random = [&m = machine] { return m.random(); }};
  }

  Task<void> write(WriteItem item) {
    const std::shared_ptr<Server> server = shared.servers[machine.random() % 2];
    if (!server) co_return;
    // As a request of that server: it dies with it.
    auto answer = std::make_shared<runtime::Signal>();
    server->scope.spawn(carry_out(*server, std::move(item), answer));
    (void)co_await runtime::with_timeout(machine, 2s, wait(answer));
  }

  Task<void> create(const resource::Kind& kind, std::string ns, Json object) {
    WriteItem item{.kind = &kind, .namespace_name = ns, .create = true};
    item.plan = [context = context(kind, ns, ""), object = std::move(object)](const Json*) {
      return apiserver::plan_create(context, object);
    };
    co_await write(std::move(item));
  }

  Task<void> remove(const resource::Kind& kind, std::string ns, std::string name) {
    WriteItem item{.kind = &kind, .namespace_name = std::move(ns), .name = std::move(name)};
    item.plan = [&kind, now = machine.wall_now()](const Json* live) -> Answer<Change> {
      if (!live) return apimachinery::refuse(apimachinery::bad_request("gone"));
      return apiserver::plan_delete(kind, *live, {}, now);
    };
    co_await write(std::move(item));
  }

 private:
  static Task<Result<>> wait(std::shared_ptr<runtime::Signal> signal) {
    co_return co_await signal->wait();
  }
  static Task<void> carry_out(Server& server, WriteItem item,
                              std::shared_ptr<runtime::Signal> answer) {
    (void)co_await server.writer.write(std::move(item));
    answer->notify();
  }
};

Json object_of(const resource::Kind& kind, const std::string& ns, const std::string& name,
               Json spec) {
  return JsonObject{{"apiVersion", kind.api_version()},
                    {"kind", kind.kind},
                    {"metadata", JsonObject{{"name", name}, {"namespace", ns}}},
                    {"spec", std::move(spec)}};
}

// Few names, few addresses, two namespaces and two networks: everything collides.
Task<void> use_networks(Machine& machine, Shared& shared) {
  static const std::vector<JsonObject> kBlocks{
      {{"ipv4", "10.0.0.0/29"}}, {{"ipv4", "10.0.0.0/28"}},
      {{"ipv4", "10.0.0.8/29"}}, {{"ipv4", "10.0.1.0/29"}},
      {{"ipv6", "fd00::/125"}},  {{"ipv4", "10.0.0.0/29"}, {"ipv6", "fd00::/126"}}};
  User user{machine, shared};
  while (shared.busy) {
    const auto any = [&machine](std::uint64_t of) { return machine.random() % of; };
    const std::string ns = any(4) == 0 ? "b" : "a";
    const std::string subnet = fmt::format("s{}", any(3));
    const std::string attachment = fmt::format("na{}", any(14));
    const std::uint64_t action = any(20);
    if (action < 3) {
      JsonObject spec = kBlocks[any(kBlocks.size())];
      spec["vni"] = 1 + any(2);
      co_await user.create(subnets(), ns, object_of(subnets(), ns, subnet, std::move(spec)));
    } else if (action < 4) {
      co_await user.remove(subnets(), ns, subnet);
    } else if (action < 13) {
      JsonObject spec{{"node", fmt::format("n{}", any(3))}, {"subnet", subnet}};
      if (any(6) == 0) spec["fixedIPv4"] = fmt::format("10.0.0.{}", 2 + any(6));
      if (any(12) == 0) spec["fixedIPv6"] = fmt::format("fd00::{}", 2 + any(6));
      co_await user.create(attachments(), ns, object_of(attachments(), ns, attachment, spec));
    } else {
      co_await user.remove(attachments(), ns, attachment);
    }
    if (!co_await runtime::sleep(machine, Duration(any(60'000'000)))) co_return;
  }
}

Task<Result<store::Committed>> write_report(store::Store& store, const std::string& node,
                                            std::string applied_own, JsonObject applied) {
  store::Transaction transaction;
  transaction.operations.push_back(
      {store::Operation::Kind::put, watchcache::store_key(reports(), "", node),
       watchcache::encode_stored(JsonObject{{"apiVersion", reports().api_version()},
                                            {"kind", reports().kind},
                                            {"metadata", JsonObject{{"name", node}, {"uid", node}}},
                                            {"appliedOwn", std::move(applied_own)},
                                            {"applied", std::move(applied)}})});
  co_return co_await store.commit(std::move(transaction));
}

// A node as its agent reports on it: some time after it saw something change in a network in which
// it has attachments, or had until then, it says so; of other networks it knows nothing.
Task<void> answer_for(Machine& machine, Shared& shared, std::string node) {
  LaggingStore store(machine, *shared.store);
  if (!co_await write_report(store, node, "", {})) co_return;
  const std::string prefix = watchcache::kind_prefix(attachments());
  auto watch = store.watch(prefix, 0);
  CHECK(watch.has_value());
  JsonObject applied;
  std::map<std::string, std::string> own;  // attachment → VNI
  for (;;) {
    const Result<store::ChangeBatch> batch = co_await (*watch)->next();
    if (!batch) co_return;
    std::set<std::string> concerned;
    for (const auto& [key, vni] : own) concerned.insert(vni);
    for (const store::Change& change : batch->changes) {
      own.erase(change.current.key);
      if (change.erased) continue;
      const auto object = watchcache::decode_stored(attachments(), change.current.value.view(),
                                                    change.current.modified);
      CHECK(object.has_value());
      const Json json = (*object)->decode();
      const Json* vni = wire::find(json, "status.addressVNI");
      if (!vni || wire::find_string(json, "spec.node") != node) continue;
      own[change.current.key] = std::to_string(vni->to_number<int>());
      concerned.insert(own[change.current.key]);
    }
    if (batch->changes.empty() || concerned.empty()) continue;
    const std::string seen = std::to_string(store::Place::end_of(batch->revision).number());
    for (const std::string& vni : concerned) applied[vni] = seen;
    (void)co_await write_report(store, node, seen, applied);
  }
}

// What all seeds together must have seen; a quiet one may have seen nothing.
struct Seen {
  std::size_t assignments = 0;
  std::size_t releases = 0;
};

Result<> run_networks(World& world, Seen& seen) {
  Machine& machine = world.add_machine("servers");
  Shared& shared = world.own<Shared>();
  shared.store = std::make_unique<store::MemoryStore>(machine, store::MemoryOptions{1'000'000});
  machine.start([&shared](Machine& m) -> Task<void> {
    runtime::Scope scope(m);
    scope.spawn(check_everything(m, shared));
    for (const std::size_t which : {0, 1}) scope.spawn(keep_serving(m, shared, which));
    for (const char* node : {"n0", "n1"}) scope.spawn(answer_for(m, shared, node));
    for (int user = 0; user < 4; ++user) scope.spawn(use_networks(m, shared));
    co_await scope.join();
  });
  world.run_for(3s);
  shared.busy = false;
  world.run_for(90s);  // back-off of addresses that could not be assigned
  shared.checker.rest();
  if (!shared.checker.violation().empty()) return fail(Code::internal, shared.checker.violation());
  seen.assignments += shared.checker.assignments();
  seen.releases += shared.checker.releases();
  return {};
}

TEST(Networks, NoAddressIsOwnedTwiceAndNoneLeaks) {
  Seen seen;
  // Agents.* has the same checker and more faults, with every seed; here two servers quarrel.
  EXPECT_TRUE(
      run_seeds({.count = 20}, [&seen](World& world) { return run_networks(world, seen); }));
  if (seed_choice().only) return;
  EXPECT_GT(seen.assignments, 0U) << "nothing was tested";
  EXPECT_GT(seen.releases, 0U) << "nothing was tested";
}

}  // namespace
}  // namespace fairlead::sim
