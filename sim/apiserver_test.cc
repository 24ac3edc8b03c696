// The real server in the virtual world: HTTP, API server, watch cache and SQLite store on one
// machine, clients and informers on others, while processes are killed, power fails inside commits,
// machines freeze and cables are cut. Promise 3 (histories) and promise 5 (durability), judged by
// the checkers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/api_server.h"
#include "apiserver/cluster_defaults.h"
#include "client/reflector.h"
#include "client/rest_client.h"
#include "controllers/garbage_collector.h"
#include "controllers/namespace_terminator.h"
#include "sim/checkers.h"
#include "sim/faults.h"
#include "sim/seeds.h"
#include "sim/sqlite_vfs.h"
#include "sim/world.h"
#include "store/sqlite_store.h"

namespace fairlead::sim {
namespace {

constexpr std::string_view kToken = "a-token-of-the-virtual-world";
constexpr std::string_view kVfs = "sim-apiserver";
const client::ResourceName kConfigMaps{"", "v1", "configmaps", true};

// What the scenario keeps across crashes of the machines.
struct Shared {
  DurabilityChecker durability;
  HistoryChecker history;
  store::Store* store = nullptr;  // of the server that is up; null while it is not
  bool writing = true;
  bool history_read = false;
  Violations lost;
};

identity::TokenTable admin_tokens() {
  identity::TokenTable tokens;
  tokens.add(kToken, std::make_shared<identity::User>(identity::User{
                         .name = "admin", .groups = {std::string(identity::kMastersGroup)}}));
  return tokens;
}

Task<void> follow(watchcache::WatchCache& cache) { (void)co_await cache.run(); }

struct Unpublish {
  Shared& shared;
  ~Unpublish() { shared.store = nullptr; }
};

Task<void> serve(Machine& machine, Shared& shared) {
  const auto fatal = [&machine](const std::string&) { machine.crash(Crash::kill()); };
  auto opened = store::SqliteStore::open(
      machine, {.directory = ".", .vfs = std::string(kVfs), .on_fatal = fatal});
  if (!opened) {
    machine.note("store not opened: " + opened.error().message);
    machine.crash(Crash::kill());
    co_return;
  }
  store::SqliteStore& store = **opened;
  const resource::Catalog& catalog = resource::builtin_catalog();
  metrics::Registry metrics;
  watchcache::WatchCache cache(machine, store, catalog);
  apiserver::NodeIndex nodes(catalog, cache);
  std::vector<std::shared_ptr<identity::Authenticator>> members{
      std::make_shared<identity::TokenAuthenticator>(admin_tokens())};
  identity::UnionAuthenticator authenticator(std::move(members), false);
  identity::RoleAuthorizer authorizer(&nodes);
  apiserver::ApiServer api({.runtime = machine,
                            .store = store,
                            .cache = cache,
                            .catalog = catalog,
                            .nodes = nodes,
                            .authenticator = authenticator,
                            .authorizer = authorizer,
                            .metrics = metrics});
  controllers::GarbageCollector garbage(machine, catalog, cache, api.writer());
  http::Server server(machine, api);
  runtime::Signal never;
  const Unpublish unpublish{shared};
  runtime::Scope scope(machine);
  scope.spawn(follow(cache));
  const Result<> ready =
      co_await apiserver::ensure_defaults(machine, cache, catalog, api.writer(), never);
  if (!ready) co_return;
  scope.spawn(garbage.run());
  auto listener = machine.listen({.host = "0.0.0.0", .port = 80}, nullptr);
  CHECK(listener.has_value());
  scope.spawn(server.serve(std::move(*listener)));
  shared.store = &store;
  co_await scope.join();
}

std::unique_ptr<client::RestClient> connect(Machine& machine) {
  auto opened = client::RestClient::open(
      machine, {.server = "http://server:80", .token = std::string(kToken)},
      {.request_time = 5s, .http2_without_tls = true});
  CHECK(opened.has_value());
  return std::move(*opened);
}

std::uint64_t version_of(const Json& object) {
  return std::stoull(std::string(wire::find_string(object, "metadata.resourceVersion")));
}

Json config_map(const std::string& name, const std::string& value) {
  return JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                    {"data", JsonObject{{"value", value}}}};
}

std::string value_of(const Json& object) {
  return std::string(wire::find_string(object, "data.value"));
}

// A write whose answer never came, or that says it may have happened, stays unknown to the checker.
bool surely_refused(const Error& error) {
  return error.code == Code::conflict || error.code == Code::already_exists ||
         error.code == Code::not_found || error.code == Code::invalid;
}

// One write of a key of this writer: created, replaced or deleted, by what the server has.
Task<void> write_once(client::RestClient& api, Shared& shared, std::string name, std::string value,
                      bool erase) {
  const Result<Json> current = co_await api.get(kConfigMaps, "default", name);
  if (!current && current.error().code != Code::not_found) co_return;
  if (erase && current) {
    const auto operation = shared.durability.attempt("default/" + name, std::nullopt);
    const Result<> removed = co_await api.remove(kConfigMaps, "default", name);
    // A deletion's answer carries no version: it stays unknown unless it was refused.
    if (!removed && surely_refused(removed.error())) shared.durability.refused(operation);
    co_return;
  }
  const auto operation = shared.durability.attempt("default/" + name, value);
  Result<Json> written;
  if (current) {
    Json object = *current;
    object.at("data").get_object()["value"] = value;
    written = co_await api.update(kConfigMaps, std::move(object));
  } else {
    written = co_await api.create(kConfigMaps, "default", config_map(name, value));
  }
  if (written) {
    shared.durability.acknowledged(operation, version_of(*written));
  } else if (surely_refused(written.error())) {
    shared.durability.refused(operation);
  }
}

Task<void> write_keys(Machine& machine, Shared& shared) {
  const std::unique_ptr<client::RestClient> api = connect(machine);
  for (unsigned i = 0; shared.writing; ++i) {
    const std::string name = fmt::format("{}-{}", machine.name(), i % 4);
    co_await write_once(*api, shared, name, fmt::format("{}-{}", machine.boot(), i), i % 7 == 6);
    const Result<> slept = co_await runtime::sleep(machine, 150ms);
    if (!slept) co_return;
  }
}

// Tells the checker everything that a reflector tells it, and keeps the cache it stands for.
class RecordingSink final : public client::ObjectSink {
 public:
  explicit RecordingSink(HistoryChecker::Watcher& watcher) : watcher_(watcher) {}
  void replace(std::vector<Json> objects, const std::string& version) override {
    contents_.clear();
    for (const Json& object : objects) contents_[key_of(object)] = value_of(object);
    watcher_.listed(std::stoull(version), contents_);
    watcher_.watching(std::stoull(version));
  }
  void put(Json object) override {
    contents_[key_of(object)] = value_of(object);
    watcher_.saw({version_of(object), key_of(object), value_of(object)});
  }
  void erase(const Json& last_state) override {
    contents_.erase(key_of(last_state));
    watcher_.saw({version_of(last_state), key_of(last_state), std::nullopt});
  }
  void rest() { watcher_.at_rest(contents_); }

  static std::string key_of(const Json& object) {
    return fmt::format("{}/{}", wire::find_string(object, "metadata.namespace"),
                       wire::find_string(object, "metadata.name"));
  }

 private:
  HistoryChecker::Watcher& watcher_;
  HistoryChecker::Contents contents_;
};

Task<void> inform(Machine& machine, RecordingSink& sink) {
  const std::unique_ptr<client::RestClient> api = connect(machine);
  client::Reflector reflector(machine, *api, {.resource = kConfigMaps, .page = 3}, sink);
  co_await reflector.run();
}

// The whole truth: every change from the first revision on, from the store itself.
Task<void> read_history(Machine&, Shared& shared) {
  const std::string prefix = "core/configmaps/";
  const auto revision = co_await shared.store->revision();
  auto watch = shared.store->watch(prefix, 0);
  CHECK(revision && watch);
  std::map<std::string, DurabilityChecker::Stored> contents;
  for (store::Revision seen = 0; seen < *revision;) {
    const Result<store::ChangeBatch> batch = co_await (*watch)->next();
    CHECK(batch.has_value());
    seen = batch->revision;
    for (const store::Change& change : batch->changes) {
      const std::string key = change.current.key.substr(prefix.size());
      HistoryEvent event{change.current.modified.number(), key, std::nullopt};
      if (change.erased) {
        contents.erase(key);
      } else {
        const auto object =
            watchcache::decode_stored(*resource::builtin_catalog().find("", "v1", "configmaps"),
                                      change.current.value.view(), change.current.modified);
        CHECK(object.has_value());
        event.value = value_of((*object)->decode());
        contents[key] = {event.version, *event.value};
      }
      shared.history.happened(std::move(event));
    }
  }
  shared.lost = shared.durability.check(contents);
  shared.history_read = true;
}

Result<> serve_through_faults(World& world) {
  Machine& server = world.add_machine("server");
  Shared& shared = world.own<Shared>();
  world.own<SqliteVfs>(server.disk(), std::string(kVfs));
  server.start([&shared](Machine& machine) { return serve(machine, shared); });

  std::vector<RecordingSink*> sinks;
  std::vector<std::string> victims{"server"};
  for (const char* name : {"writer-a", "writer-b"}) {
    world.add_machine(name).start(
        [&shared](Machine& machine) { return write_keys(machine, shared); });
    victims.emplace_back(name);
  }
  for (const char* name : {"informer-a", "informer-b"}) {
    auto& sink = world.own<RecordingSink>(shared.history.watcher(name));
    sinks.push_back(&sink);
    world.add_machine(name).start([&sink](Machine& machine) { return inform(machine, sink); });
    victims.emplace_back(name);
  }
  using Kind = Fault::Kind;
  world.own<Nemesis>(
      world, FaultSettings{
                 .machines = victims,
                 .begin = 2s,
                 .end = 25s,
                 .kinds = {Kind::cut_one_way, Kind::cut_both_ways, Kind::isolate, Kind::slow,
                           Kind::pause, Kind::kill, Kind::power_loss, Kind::power_loss_in_write}});
  world.run_for(30s);
  shared.writing = false;
  // Reflectors wait up to a minute between tries, and up to a keep-alive to notice a dead server.
  world.run_for(180s);
  if (!shared.store) return fail(Code::unavailable, "the server is not up after the faults ended");
  for (RecordingSink* sink : sinks) sink->rest();
  server.start([&shared](Machine& machine) { return read_history(machine, shared); });
  world.run_for(5s);
  if (!shared.history_read) return fail(Code::timeout, "the history could not be read");
  if (shared.durability.acknowledged_count() == 0)
    return fail(Code::internal, "nothing was acknowledged: the scenario tested nothing");
  FL_CHECKED(as_result(shared.lost));
  return as_result(shared.history.check());
}

// Every informer sees a gap-free, ordered history and ends with what the store holds; every
// acknowledged write is there.
TEST(ApiServer, KeepsItsPromisesThroughFaults) {
  EXPECT_TRUE(run_seeds({.count = 60}, serve_through_faults));
}

}  // namespace
}  // namespace fairlead::sim
