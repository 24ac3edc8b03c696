// How often a write is planned, and what its caller is told, on a whole server with the model
// store.
#include "api/apiserver/object_writer.h"

#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

// Refuses until it hears that it may not.
struct Gate final : Admission {
  Answer<> admit(const Proposal&, store::Transaction&) override {
    if (open) return {};
    return apimachinery::refuse(apimachinery::bad_request("the gate is closed"));
  }
  Task<Result<bool>> catch_up(const std::vector<WriteItem>&) override {
    ++asked;
    co_return std::exchange(open, opens) != opens;
  }
  bool open = true, opens = true;
  int asked = 0;
};

struct World : TestServer {
  Gate gate;
  int planned = 0;
  std::optional<WriteResult<Written>> outcome;

  World() { api.writer().add_admission(gate); }
  static Json map_named(std::string_view name) {
    return JsonObject{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", JsonObject{{"name", name}, {"namespace", "default"}}}};
  }
  // A write of ConfigMap m by `plan`, which is counted.
  void write(std::function<Answer<Change>(const Json* live)> plan, bool dry_run = false) {
    planned = 0;
    outcome.reset();
    WriteItem item{
        .kind = catalog.find("", "v1", "configmaps"), .namespace_name = "default", .name = "m"};
    item.plan = [this, plan = std::move(plan)](const Json* live) {
      ++planned;
      return plan(live);
    };
    fibers.spawn(run(*this, std::move(item), dry_run));
    runtime.settle();
  }
  static Task<void> run(World& world, WriteItem item, bool dry_run) {
    world.outcome = co_await world.api.writer().write(std::move(item), dry_run);
  }
};

Answer<Change> refused(const Json*) {
  return apimachinery::refuse(apimachinery::bad_request("no"));
}
Answer<Change> nothing(const Json*) { return Change{.kind = Change::Kind::none}; }
Answer<Change> made(const Json*) {
  return Change{.kind = Change::Kind::put, .object = World::map_named("m"), .creates = true};
}

// What is refused, is nothing or is only tried is decided once if the cache showed all there was.
TEST(ObjectWriter, PlansOnceOnCurrentState) {
  World world;
  world.write(refused);
  EXPECT_EQ(world.outcome->error().message, "no");
  EXPECT_EQ(world.planned, 1);
  world.write(nothing);
  EXPECT_TRUE(*world.outcome);
  EXPECT_EQ(world.planned, 1);
  world.write(made, true);
  EXPECT_TRUE(*world.outcome);
  EXPECT_EQ(world.planned, 1);
  EXPECT_FALSE(world.exists("/api/v1/namespaces/default/configmaps/m"));
}

// A refusal on an old state is not given: it is decided again once the cache has caught up.
TEST(ObjectWriter, PlansAgainOnNewerState) {
  World world;
  const resource::Kind& kind = *world.catalog.find("", "v1", "configmaps");
  const auto commit_and_write = [](World& on, std::string key, WriteItem item) -> Task<void> {
    const Bytes stored = watchcache::encode_stored(World::map_named("m"));
    (void)co_await on.store.commit(
        {.compares = {}, .operations = {{store::Operation::Kind::put, std::move(key), stored}}});
    on.outcome = co_await on.api.writer().write(std::move(item));
  };
  WriteItem item{.kind = &kind, .namespace_name = "default", .name = "m"};
  bool seen = false;
  item.plan = [&](const Json* live) -> Answer<Change> {
    ++world.planned;
    seen = live != nullptr;
    return seen ? nothing(live) : refused(live);
  };
  world.fibers.spawn(commit_and_write(world, watchcache::store_key(kind, "default", "m"), item));
  world.runtime.settle();
  ASSERT_TRUE(world.outcome);
  EXPECT_TRUE(*world.outcome);
  EXPECT_TRUE(seen);
  EXPECT_EQ(world.planned, 2);
}

// An admission that refuses is asked to look again; only if it has news is the write decided again.
TEST(ObjectWriter, PlansAgainIfAnAdmissionHasNews) {
  World world;
  world.gate.open = world.gate.opens = false;
  world.write(made);
  EXPECT_EQ(world.outcome->error().message, "the gate is closed");
  EXPECT_EQ(world.planned, 1);
  EXPECT_EQ(world.gate.asked, 1);
  world.gate.opens = true;
  world.write(made);
  EXPECT_TRUE(*world.outcome);
  EXPECT_EQ(world.planned, 2);
  EXPECT_EQ(world.gate.asked, 2);
}

// A plan's refusal is an Error with a code for callers inside, and keeps every word for an HTTP
// client.
TEST(ObjectWriter, ARefusalHasACodeAndKeepsItsWords) {
  World world;
  const apimachinery::GroupResource maps{"", "configmaps"};
  const std::vector<std::pair<Status, Code>> cases = {
      {apimachinery::not_found(maps, "m"), Code::not_found},
      {apimachinery::uid_mismatch(maps, "m", "1", "2"), Code::conflict},
      {apimachinery::already_exists(maps, "m"), Code::already_exists},
      {apimachinery::namespace_terminating(maps, "m", "default"), Code::forbidden},
      {apimachinery::too_many_requests("slowly", 7), Code::exhausted},
      {apimachinery::service_unavailable("away"), Code::unavailable}};
  for (const auto& [status, code] : cases) {
    world.write([&status](const Json*) -> Answer<Change> { return apimachinery::refuse(status); });
    ASSERT_FALSE(*world.outcome);
    const Refusal& refusal = world.outcome->error();
    EXPECT_EQ(refusal.code, code);
    EXPECT_EQ(refusal.message, status.message);
    EXPECT_EQ(refusal.status().to_json(), status.to_json());
    const Result<> plain = fail(refusal);  // what callers hand on
    EXPECT_EQ(plain.error(), (Error{code, status.message}));
  }
}

// A name that is taken is told as such; another object behind it concerns no controller.
TEST(ObjectWriter, ATakenNameIsToldAsSuch) {
  World world;
  world.write(made);
  ASSERT_TRUE(*world.outcome);
  world.write(made);
  ASSERT_FALSE(*world.outcome);
  EXPECT_EQ(world.outcome->error().code, Code::already_exists);
  EXPECT_TRUE(world.outcome->error().about_another_object());
  EXPECT_EQ(world.outcome->error().status().message, R"(configmaps "m" already exists)");
}

// A store whose commits fail.
struct FailingStore final : store::Store {
  FailingStore(store::Store& behind, Error why) : store(behind), error(std::move(why)) {}
  Task<Result<store::Revision>> revision() override { return store.revision(); }
  Task<Result<std::optional<store::KeyValue>>> get(std::string key) override {
    return store.get(std::move(key));
  }
  Task<Result<store::Listing>> list(std::string prefix, store::ListOptions options) override {
    return store.list(std::move(prefix), std::move(options));
  }
  Task<Result<store::Committed>> commit(store::Transaction) override {
    ++commits;
    co_return fail(error);
  }
  Result<std::unique_ptr<store::Watch>> watch(std::string prefix, store::Revision after) override {
    return store.watch(std::move(prefix), after);
  }
  Task<Result<>> compact(store::Revision before) override { return store.compact(before); }

  store::Store& store;
  Error error;
  int commits = 0;
};

// What the store fails with is what the caller is told, cancellation too; only a conflict is tried
// again, and whoever loses every time is told to come back.
TEST(ObjectWriter, TheStoresErrorIsTheCallers) {
  World world;
  const auto write = [](ObjectWriter& writer, WriteItem item,
                        std::optional<WriteResult<Written>>& outcome) -> Task<void> {
    outcome = co_await writer.write(std::move(item));
  };
  for (const Code code :
       {Code::unavailable, Code::timeout, Code::cancelled, Code::exhausted, Code::conflict}) {
    FailingStore store(world.store, {code, "no"});
    ObjectWriter writer(store, world.cache);
    WriteItem item{.kind = world.catalog.find("", "v1", "configmaps"),
                   .namespace_name = "default",
                   .name = "m"};
    item.plan = made;
    world.outcome.reset();
    world.fibers.spawn(write(writer, std::move(item), world.outcome));
    world.runtime.settle();
    ASSERT_TRUE(world.outcome && !*world.outcome);
    const Refusal& refusal = world.outcome->error();
    const bool rivals = code == Code::conflict;
    EXPECT_EQ(refusal.code, rivals ? Code::unavailable : code);
    EXPECT_EQ(refusal.status().reason,
              rivals ? "ServerTimeout" : apimachinery::status_of({code, "no"}).reason);
    EXPECT_EQ(store.commits, rivals ? 200 : 1);
  }
}

}  // namespace
}  // namespace fairlead::apiserver
