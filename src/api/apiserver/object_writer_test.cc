// How often a write is planned, on a whole server with the model store.
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
  std::optional<Answer<Written>> outcome;

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

}  // namespace
}  // namespace fairlead::apiserver
